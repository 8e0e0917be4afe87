export const element = (id) => document.getElementById(id);

/** An element with properties and children; texts become text and nothing else. */
export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Presses one button of a group and no other. */
export function press(group, pressed) {
  for (const button of group.querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button === pressed));
  }
}

export const isHidden = (id, hidden) => {
  element(id).hidden = hidden;
};
