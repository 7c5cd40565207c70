/** Control characters but tab and line feed, of 7 and 8 bits, and those that turn the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Escapes all characters that steer a terminal, for text that names or quotes files of a site. Keeps lines and tabs. */
export function printable(text: string): string {
  return text.replace(CONTROLS, escaped)
}

/** The same for text that must stay on one line: line feeds and tabs are escaped too. */
export function printableLine(text: string): string {
  return printable(text).replace(/[\t\n]/g, escaped)
}
