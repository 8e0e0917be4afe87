/** A text beside a prompt, between tags, so that a model takes it for data. No line of the text can end it early. */
export function asData(name: string, text: string, attributes = ''): string {
  let tag = name;
  for (let number = 2; text.includes(`</${tag}>`); number += 1) tag = `${name}-${number}`;
  return `<${tag}${attributes}>\n${text}\n</${tag}>`;
}
