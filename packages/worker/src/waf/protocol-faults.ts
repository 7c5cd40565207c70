import type { RequestForms } from './request-forms.ts'

/** Methods that no site needs, and that show more than it should. */
const METHODS: ReadonlySet<string> = new Set([
  'TRACE',
  'TRACK',
  'CONNECT',
  'DEBUG',
  'MOVE',
  'COPY',
  'MKCOL',
  'LOCK',
  'UNLOCK',
  'PROPPATCH',
])
const EXTENSIONS =
  /\.(?:bak|backup|cer|cfg|config|conf|dbf?|dll|dmp|dump|idc|inc|ini|key|lic|log|mdb|mdf|old|orig|p12|pem|pfx|pwd|rdb|rsa|sav|sql|sqlite3?|swp|swo|sys|tfstate|vbs|kdbx?)$|~$/
const MAX_RANGES = 5
const CHARSETS = /charset ?= ?["']?(?:utf-?7|utf-?16|utf-?32|ibm\d+|cp037|ebcdic)/i
/** A CR or LF that is sent in an escape, or NUL. */
const CONTROL_ESCAPES = /%(?:25)?0[0ad]|%u000[0ad]|[\0\r\n]/i
const WRONG_ESCAPE = /%(?!u?[\da-f]{2})/i
/** Fields that no browser sends, and that change the meaning of a request for programs behind this one. */
const DANGEROUS_FIELDS: ReadonlySet<string> = new Set([
  'proxy',
  'x-original-url',
  'x-rewrite-url',
  'x-http-method-override',
  'lock-token',
])

/** Returns true if the head of a request is wrong or unusual in a way that attacks are. */
export function breaksProtocol(forms: RequestForms): boolean {
  const { method, rawPath, query, headers } = forms.request
  if (METHODS.has(method) || EXTENSIONS.test(forms.packPath)) return true
  if (
    /%(?:25)?00|%(?:25)?0[ad]/i.test(rawPath) ||
    WRONG_ESCAPE.test(rawPath) ||
    WRONG_ESCAPE.test(query) ||
    /%(?:25)?00/i.test(query)
  )
    return true
  if (hasWrongUtf8(rawPath) || hasWrongUtf8(query)) return true
  return headers.some(([name, value]) => isWrongField(name, value, method))
}

/** Returns true if a body is of a type that is written to get past filters. */
export function hasWrongType(forms: RequestForms): boolean {
  return CHARSETS.test(forms.field('content-type').join())
}

function isWrongField(name: string, value: string, method: string): boolean {
  if (DANGEROUS_FIELDS.has(name)) return true
  switch (name) {
    case 'range':
    case 'request-range':
      return value.split(',').length > MAX_RANGES
    case 'content-type':
      return CHARSETS.test(value) || /;.*;.*boundary.*boundary/i.test(value)
    case 'content-length':
      return (method === 'GET' || method === 'HEAD') && value !== '0'
    case 'content-encoding':
      return /^(?!(?:gzip|x-gzip|deflate|br|zstd|identity)$)/i.test(value.trim())
    case 'accept-encoding':
    case 'connection':
      return CONTROL_ESCAPES.test(value)
    case 'accept-charset':
      return /[^\w.*;=, -]/.test(value)
    default:
      return false
  }
}

/** True if escapes are no UTF-8: overlong forms hide characters from filters. */
function hasWrongUtf8(text: string): boolean {
  if (!/%[c-f][\da-f]/i.test(text)) return false
  const runs = text.match(/(?:%[\da-f]{2})+/gi) ?? []
  return runs.some((run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString().includes('\ufffd'))
}
