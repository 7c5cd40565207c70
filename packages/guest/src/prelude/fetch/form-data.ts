import { latin1toString } from '@exodus/bytes/single-byte.js'
import { concatBytes, decodeUtf8, encodeUtf8 } from '../encoding/bytes.ts'
import { Blob, File } from './blob.ts'

type FormDataValue = string | File

function toValue(value: unknown, filename?: unknown): FormDataValue {
  if (!(value instanceof Blob)) return String(value).toWellFormed()
  if (value instanceof File && filename === undefined) return value
  const name = filename === undefined ? 'blob' : String(filename)
  return new File([value], name, { type: value.type, ...(value instanceof File ? { lastModified: value.lastModified } : {}) })
}

/** XHR standard `FormData`. */
export class FormData {
  #entries: [name: string, value: FormDataValue][] = []

  append(name: unknown, value: unknown, filename?: unknown): void {
    this.#entries.push([String(name).toWellFormed(), toValue(value, filename)])
  }

  set(name: unknown, value: unknown, filename?: unknown): void {
    const key = String(name).toWellFormed()
    const entry: [string, FormDataValue] = [key, toValue(value, filename)]
    const at = this.#entries.findIndex(([known]) => known === key)
    if (at < 0) {
      this.#entries.push(entry)
      return
    }
    this.#entries[at] = entry
    this.#entries = this.#entries.filter(([known], index) => index <= at || known !== key)
  }

  delete(name: unknown): void {
    this.#entries = this.#entries.filter(([known]) => known !== String(name))
  }

  get(name: unknown): FormDataValue | null {
    return this.#entries.find(([known]) => known === String(name))?.[1] ?? null
  }

  getAll(name: unknown): FormDataValue[] {
    return this.#entries.filter(([known]) => known === String(name)).map(([, value]) => value)
  }

  has(name: unknown): boolean {
    return this.#entries.some(([known]) => known === String(name))
  }

  forEach(each: (value: FormDataValue, name: string, data: FormData) => void, self?: unknown): void {
    for (const [name, value] of this) each.call(self, value, name, this)
  }

  *entries(): IterableIterator<[string, FormDataValue]> {
    for (const [name, value] of this.#entries) yield [name, value]
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#entries) yield name
  }

  *values(): IterableIterator<FormDataValue> {
    for (const [, value] of this.#entries) yield value
  }

  [Symbol.iterator](): IterableIterator<[string, FormDataValue]> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'FormData'
  }
}

const malformed = (what: string) => new TypeError(`Malformed multipart body: ${what}`)

/** Escapes a name for a part's header (HTML standard, multipart/form-data encoding algorithm). */
const escapeName = (name: string) => name.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')

const crlf = (text: string) => text.replace(/\r\n|\r|\n/g, '\r\n')

/** Writes form data as a multipart body (RFC 7578). */
export function encodeMultipart(data: FormData, boundary: string): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = []
  for (const [name, value] of data) {
    const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(crlf(name))}"`
    if (typeof value === 'string') pieces.push(encodeUtf8(`${disposition}\r\n\r\n${crlf(value)}\r\n`))
    else {
      const type = value.type === '' ? 'application/octet-stream' : value.type
      pieces.push(encodeUtf8(`${disposition}; filename="${escapeName(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`))
      pieces.push(Blob.bytes(value), encodeUtf8('\r\n'))
    }
  }
  pieces.push(encodeUtf8(`--${boundary}--\r\n`))
  return concatBytes(pieces)
}

/** Finds `needle` in `bytes` from `from` on; -1 when it is not there. */
function indexOfBytes(bytes: Uint8Array, needle: Uint8Array, from: number): number {
  const first = needle[0] as number
  for (let at = bytes.indexOf(first, from); at >= 0 && at + needle.length <= bytes.length; at = bytes.indexOf(first, at + 1)) {
    let i = 1
    while (i < needle.length && bytes[at + i] === needle[i]) i++
    if (i === needle.length) return at
  }
  return -1
}

interface PartHead {
  readonly name: string
  readonly filename: string | undefined
  readonly type: string
}

const unescapeName = (text: string) =>
  text.replace(/%0A|%0D|%22/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))

function parseHead(text: string): PartHead {
  const fields = new Map<string, string>()
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  const disposition = fields.get('content-disposition') ?? ''
  if (!/^form-data\s*;/i.test(disposition)) throw malformed('a part without Content-Disposition: form-data')
  const parameter = (key: string) =>
    new RegExp(`[;\\s]${key}="([^"]*)"`, 'i').exec(disposition)?.[1] ??
    new RegExp(`[;\\s]${key}=([^";\\s]+)`, 'i').exec(disposition)?.[1]
  const name = parameter('name')
  if (name === undefined) throw malformed('a part without a name')
  const filename = parameter('filename')
  return {
    name: unescapeName(name),
    filename: filename === undefined ? undefined : unescapeName(filename),
    type: fields.get('content-type') ?? 'text/plain',
  }
}

/** Reads a multipart body. Throws TypeError when it is malformed or cut. */
export function parseMultipart(bytes: Uint8Array<ArrayBuffer>, boundary: string): FormData {
  const data = new FormData()
  const delimiter = encodeUtf8(`\r\n--${boundary}`)
  const headEnd = encodeUtf8('\r\n\r\n')
  const first = encodeUtf8(`--${boundary}`)
  // The first delimiter has no line break before it when there is no preamble.
  let at =
    indexOfBytes(bytes.subarray(0, first.length), first, 0) === 0
      ? first.length
      : indexOfBytes(bytes, delimiter, 0) + delimiter.length
  if (at < first.length) throw malformed('no boundary')
  for (;;) {
    const mark = latin1toString(bytes.subarray(at, at + 2))
    if (mark === '--') return data
    if (mark !== '\r\n') throw malformed('no line break after a boundary')
    const bodyAt = indexOfBytes(bytes, headEnd, at)
    const end = bodyAt < 0 ? -1 : indexOfBytes(bytes, delimiter, bodyAt + 2)
    if (bodyAt < 0 || end < 0) throw malformed('the body ends before the last boundary')
    const head = parseHead(decodeUtf8(bytes.subarray(at + 2, bodyAt)))
    const content = bytes.slice(bodyAt + 4, Math.max(end, bodyAt + 4))
    if (head.filename === undefined) data.append(head.name, decodeUtf8(content))
    else data.append(head.name, new File([content], head.filename, { type: head.type }))
    at = end + delimiter.length
  }
}
