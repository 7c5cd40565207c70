/** Texts are decoded so often: what an application decodes twice is seen as it will be. */
const MAX_DECODES = 2

const ESCAPES = /(?:%[\da-f]{2})+|%u[\da-f]{4}/gi
const ENTITY = /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(lt|gt|quot|apos|amp|lpar|rpar|colon|sol|bsol|equals|grave|tab|newline|nbsp));?/gi
const CODE_ESCAPE = /\\(?:x([\da-f]{2})|u([\da-f]{4})|u\{0*([\da-f]{1,6})\}|0*([\da-f]{2,6}) ?)/gi
const NAMED: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  amp: '&',
  lpar: '(',
  rpar: ')',
  colon: ':',
  sol: '/',
  bsol: '\\',
  equals: '=',
  grave: '`',
  tab: ' ',
  newline: ' ',
  nbsp: ' ',
}
/** Forms of ASCII characters that some applications and databases take for them. */
const FULL_WIDTH = /[\uff01-\uff5e]/g
const FULL_WIDTH_OFFSET = 0xfee0
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are left out of texts to look through words that they divide
const IGNORED = /[\u0000-\u0008\u000e-\u001f\u007f\u00ad\u200b-\u200d\u2060\ufeff]+/g
const SPACES = /\s{2,}|[^\S ]/g
const SPACES_IN_LINE = /[^\S\n]{2,}|[^\S\n ]/g

/** Decodes percent escapes, `%uXXXX` too, as UTF-8. Wrong escapes stay. Undecoded texts are returned as they are. */
export function decodePercent(text: string): string {
  let decoded = text
  for (let round = 0; round < MAX_DECODES && decoded.includes('%'); round++) {
    const before = decoded
    decoded = before.replace(ESCAPES, (escapes) => {
      if (escapes[1] === 'u' || escapes[1] === 'U') return String.fromCharCode(Number.parseInt(escapes.slice(2), 16))
      return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString()
    })
    if (decoded === before) break
  }
  return decoded
}

/** Decodes a part of a query or form: `+` is a space. */
export function decodeForm(text: string): string {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Names and values of a query or form, decoded, each on a line of its own. */
export function formLines(text: string): string {
  if (text === '') return ''
  const lines: string[] = []
  for (const field of text.split('&')) {
    const equals = field.indexOf('=')
    const decoded = equals === -1 ? [field] : [field.slice(0, equals), field.slice(equals + 1)]
    for (const one of decoded) if (one !== '') lines.push(oneLine(decodeForm(one)))
  }
  return lines.join('\n')
}

/** A text without line ends. */
export function oneLine(text: string): string {
  return text.replace(SPACES, ' ')
}

/**
 * The form of a text that packs look at: in lower case, with one space for each run of white space, without control characters, and with
 * what HTML, JavaScript and CSS write as escapes decoded. Line ends stay: they divide values.
 */
export function packForm(text: string): string {
  let form = text.replace(IGNORED, '')
  if (form.includes('&')) form = form.replace(ENTITY, entity)
  if (form.includes('\\')) form = form.replace(CODE_ESCAPE, codeEscape)
  form = form.replace(FULL_WIDTH, (char) => String.fromCharCode(char.charCodeAt(0) - FULL_WIDTH_OFFSET))
  return form.replace(IGNORED, '').replace(SPACES_IN_LINE, ' ').toLowerCase()
}

function entity(_whole: string, hex?: string, decimal?: string, name = ''): string {
  if (hex === undefined && decimal === undefined) return NAMED[name.toLowerCase()] ?? ''
  return fromCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
}

function codeEscape(whole: string, byte?: string, unit?: string, point?: string, css?: string): string {
  const code = Number.parseInt(byte ?? unit ?? point ?? css ?? '', 16)
  // A path of Windows has such letters, too.
  if (css !== undefined && (code < 0x20 || code > 0x7e)) return whole
  return fromCode(code)
}

function fromCode(code: number): string {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

/** Replaces comments of SQL by a space; what `/*!` makes MySQL run stays. */
export function withoutComments(text: string): string {
  let result = ''
  let copied = 0
  for (let at = text.indexOf('/*'); at !== -1; at = text.indexOf('/*', copied)) {
    result += `${text.slice(copied, at)} `
    if (text[at + 2] === '!') {
      copied = at + 3
      while (isDigit(text.charCodeAt(copied))) copied++
      continue
    }
    const end = text.indexOf('*/', at + 2)
    copied = end === -1 ? text.length : end + 2
  }
  return (result + text.slice(copied)).replaceAll('*/', ' ').replace(/ +/g, ' ')
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** Resolves dot segments and runs of slashes; a backslash counts as a slash. */
export function resolvedPath(path: string): string {
  if (!/[\\/](?:[\\/]|\.)/.test(path)) return path
  const kept: string[] = []
  for (const segment of path.split(/[\\/]+/)) {
    if (segment === '..') kept.pop()
    else if (segment !== '.' && segment !== '') kept.push(segment)
  }
  return `/${kept.join('/')}${/[\\/]\.{0,2}$/.test(path) && kept.length > 0 ? '/' : ''}`
}
