/** Characters of RFC 9110 and RFC 3986 by code, as flags in one table: one load and one AND per character. */
const TOKEN = 1
const UNRESERVED = 2
const PATH = 4
const QUERY = 8
const REG_NAME = 16
const FIELD_VALUE = 32

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function buildTable(): Uint8Array {
  const table = new Uint8Array(256)
  const add = (characters: string, flag: number) => {
    for (const character of characters) table[character.charCodeAt(0)] = (table[character.charCodeAt(0)] ?? 0) | flag
  }
  add(`${ALPHANUMERIC}!#$%&'*+-.^_\`|~`, TOKEN)
  add(`${ALPHANUMERIC}-._~`, UNRESERVED | REG_NAME)
  add("!$&'()*+,;=", REG_NAME)
  for (let code = 0x21; code < 0x7f; code++) {
    const character = String.fromCharCode(code)
    if (character !== '#') add(character, QUERY)
    if (!'#?\\'.includes(character)) add(character, PATH)
  }
  for (let code = 0; code < 256; code++) {
    if (code === 9 || (code >= 0x20 && code !== 0x7f)) table[code] = (table[code] ?? 0) | FIELD_VALUE
  }
  return table
}

const table: Uint8Array = buildTable()

function has(code: number, flag: number): boolean {
  return code < 256 && ((table[code] ?? 0) & flag) !== 0
}

/** Returns true if every character of a non-empty text is a `tchar` (RFC 9110 section 5.6.2). */
export function isToken(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!has(text.charCodeAt(i), TOKEN)) return false
  return text.length > 0
}

/** Returns true if a field value holds no control character but TAB (RFC 9110 section 5.5). Characters over U+00FF pass. */
export function isFieldValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 256 && !has(code, FIELD_VALUE)) return false
  }
  return true
}

/** Returns true if a field value holds only what can be written as it is: no control character but TAB, nothing over U+00FF. */
export function isLatin1FieldValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!has(text.charCodeAt(i), FIELD_VALUE)) return false
  return true
}

/** `unreserved` of RFC 3986 section 2.3. */
export function isUnreserved(code: number): boolean {
  return has(code, UNRESERVED)
}

/** Visible ASCII that may stand in a path as sent: all but `#`, `?` and backslash. */
export function isPathCharacter(code: number): boolean {
  return has(code, PATH)
}

/** Visible ASCII that may stand in a query as sent: all but `#`. Browsers do send backslash, `|` and the like there. */
export function isQueryCharacter(code: number): boolean {
  return has(code, QUERY)
}

/** `unreserved / sub-delims`: `reg-name` of RFC 3986 section 3.2.2 without its escapes. */
export function isRegNameCharacter(code: number): boolean {
  return has(code, REG_NAME)
}

/** Value of a hexadecimal digit, or -1. */
export function hexValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** Returns true if the text is one or more ASCII digits. */
export function isDigits(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x30 || code > 0x39) return false
  }
  return text.length > 0
}
