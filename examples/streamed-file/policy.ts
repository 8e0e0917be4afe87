/** Where pages commonly load their libraries from. A page that was generated may load scripts from nowhere else. */
export const LIBRARIES =
  'https://cdn.tailwindcss.com https://cdn.jsdelivr.net https://cdnjs.cloudflare.com https://unpkg.com';

/** Of the application's own page. Pictures that were attached are shown from memory, as `blob:`. */
export const OWN_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src 'self' blob:; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Of the frame that shows generated pages, and so of these pages. The response itself makes it a sandbox, whoever frames it: an
 * origin of its own, which reaches nothing of ours, and no connections but for pictures and libraries.
 */
export const PREVIEW_POLICY =
  `sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' ${LIBRARIES}; ` +
  `style-src 'unsafe-inline' ${LIBRARIES} https://fonts.googleapis.com; font-src data: https:; img-src 'self' data: https:; ` +
  "connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";
