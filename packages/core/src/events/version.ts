/** Version of the event union. A log written by a higher one is refused, untouched. */
export const EVENT_VERSION = 2;
