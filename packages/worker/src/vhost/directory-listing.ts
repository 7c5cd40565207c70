import { formatHttpDate } from '@svc/http'
import type { ListingSpec } from '@svc/vhosts'

/** An entry of a directory. Its name has one character for each byte. */
export interface ListedEntry {
  readonly name: string
  readonly type: 'file' | 'directory' | 'other'
  readonly size: number
  readonly modifiedMs: number
}

/** A directory as it is listed. */
interface Listing {
  /** Path of the URL, one character for each byte. */
  readonly uri: string
  readonly entries: readonly ListedEntry[]
  readonly spec: ListingSpec
  /** True if names are UTF-8: their characters count, not their bytes. */
  readonly isUtf8: boolean
  /** Name of the function for `jsonp`; "": none. */
  readonly callback: string
}

/** Longer names are cut. */
const NAME_CHARS = 50
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const END = '\r\n'

/** Content-Type of each format. */
export const LISTING_TYPES = {
  html: 'text/html',
  xml: 'text/xml; charset=utf-8',
  json: 'application/json',
  jsonp: 'application/javascript',
} as const

/** The list of a directory as nginx writes it: programs read it. Bytes as characters. */
export function listDirectory(listing: Listing): string {
  switch (listing.spec.format) {
    case 'html':
      return htmlOf(listing)
    case 'xml':
      return xmlOf(listing)
    case 'json':
      return `[${jsonOf(listing)}${END}]`
    case 'jsonp':
      return listing.callback === ''
        ? `[${jsonOf(listing)}${END}]`
        : `/* callback */${END}${listing.callback}([${jsonOf(listing)}${END}]);`
  }
}

function htmlOf({ uri, entries, spec, isUtf8 }: Listing): string {
  const title = escapeHtml(uri)
  const head = `<html>${END}<head><title>Index of ${title}</title></head>${END}<body>${END}<h1>Index of ${title}</h1><hr><pre>`
  const lines = entries.map((entry) => lineOf(entry, spec, isUtf8) + END)
  return `${head}<a href="../">../</a>${END}${lines.join('')}</pre><hr></body>${END}</html>${END}`
}

function lineOf(entry: ListedEntry, spec: ListingSpec, isUtf8: boolean): string {
  const isDirectory = entry.type === 'directory'
  const slash = isDirectory ? '/' : ''
  return `<a href="${escapeComponent(entry.name)}${slash}">${nameOf(entry, isUtf8)} ${timeOf(entry, spec)} ${sizeOf(entry, spec)}`
}

/** The name in its column, with the end of the link. */
function nameOf({ name, type }: ListedEntry, isUtf8: boolean): string {
  const characters = isUtf8 ? [...Buffer.from(name, 'latin1').toString('utf8')] : [...name]
  const bytesOf = (shown: readonly string[]) => {
    const text = shown.join('')
    return escapeHtml(isUtf8 ? Buffer.from(text, 'utf8').toString('latin1') : text)
  }
  if (characters.length > NAME_CHARS) return `${bytesOf(characters.slice(0, NAME_CHARS - 3))}..&gt;</a>`
  const slash = type === 'directory' && characters.length < NAME_CHARS ? '/' : ''
  return `${bytesOf(characters)}${slash}</a>${' '.repeat(NAME_CHARS - characters.length - slash.length)}`
}

function timeOf({ modifiedMs }: ListedEntry, { isLocalTime }: ListingSpec): string {
  const utc = new Date(modifiedMs)
  const time = isLocalTime ? new Date(modifiedMs - utc.getTimezoneOffset() * 60_000) : utc
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${two(time.getUTCDate())}-${MONTHS[time.getUTCMonth()]}-${time.getUTCFullYear()}`
  return `${day} ${two(time.getUTCHours())}:${two(time.getUTCMinutes())}`
}

function sizeOf({ type, size }: ListedEntry, { hasExactSize }: ListingSpec): string {
  if (hasExactSize) return (type === 'directory' ? '-' : String(size)).padStart(19)
  return (type === 'directory' ? '-' : roundedSize(size)).padStart(7)
}

const UNITS: readonly (readonly [unit: string, bytes: number, above: number])[] = [
  ['G', 1024 ** 3, 1024 ** 3 - 1],
  ['M', 1024 ** 2, 1024 ** 2 - 1],
  ['K', 1024, 9999],
]

function roundedSize(size: number): string {
  const unit = UNITS.find(([, , above]) => size > above)
  if (unit === undefined) return String(size)
  const [letter, bytes] = unit
  return `${Math.floor(size / bytes) + (size % bytes > bytes / 2 - 1 ? 1 : 0)}${letter}`
}

function jsonOf({ entries }: Listing): string {
  const lines = entries.map((entry) => {
    const size = entry.type === 'file' ? `, "size":${entry.size}` : ''
    const mtime = formatHttpDate(entry.modifiedMs)
    return `${END}{ "name":"${escapeJson(entry.name)}", "type":"${entry.type}", "mtime":"${mtime}"${size} }`
  })
  return lines.join(',')
}

function xmlOf({ entries }: Listing): string {
  const lines = entries.map((entry) => {
    const mtime = `${new Date(entry.modifiedMs).toISOString().slice(0, 19)}Z`
    const size = entry.type === 'file' ? ` size="${entry.size}"` : ''
    return `<${entry.type} mtime="${mtime}"${size}>${escapeHtml(entry.name)}</${entry.type}>${END}`
  })
  return `<?xml version="1.0"?>${END}<list>${END}${lines.join('')}</list>${END}`
}

const htmlEscapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => htmlEscapes[character] ?? character)
}

function escapeComponent(bytes: string): string {
  return bytes.replace(/[^A-Za-z0-9\-._~]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

const jsonEscapes: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
  '"': '\\"',
  '\\': '\\\\',
}

function escapeJson(bytes: string): string {
  return bytes.replace(/[\p{Cc}"\\]/gu, (byte) => {
    const code = byte.charCodeAt(0)
    return jsonEscapes[byte] ?? (code < 0x20 ? `\\u00${code.toString(16).toUpperCase().padStart(2, '0')}` : byte)
  })
}
