/** Options of `inspect`. */
interface InspectOptions {
  /** Levels of objects shown. */
  readonly depth?: number
}

const MAX_ITEMS = 100
const MAX_TEXT = 10_000
const LINE_WIDTH = 100

type Seen = readonly object[]

const quote = (text: string) => {
  const shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}... ${text.length - MAX_TEXT} more characters` : text
  return `'${shown.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'`
}

const keyText = (key: string) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key))

function primitive(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'bigint') return `${value}n`
  return Object.is(value, -0) ? '-0' : String(value)
}

function functionText(value: { name?: unknown }): string {
  const isClass = /^class[\s{]/.test(Function.prototype.toString.call(value))
  const name = typeof value.name === 'string' && value.name !== '' ? value.name : '(anonymous)'
  return isClass ? `[class ${name}]` : `[Function: ${name}]`
}

function typeName(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null) return '[Object: null prototype]'
  const name: unknown = (prototype as { constructor?: { name?: unknown } }).constructor?.name
  return typeof name === 'string' && name !== '' ? name : 'Object'
}

function joined(open: string, items: readonly string[], close: string): string {
  if (items.length === 0) return `${open}${close}`
  const line = `${open} ${items.join(', ')} ${close}`
  if (line.length <= LINE_WIDTH && !line.includes('\n')) return line
  return `${open}\n${items.map((item) => `  ${item.replaceAll('\n', '\n  ')}`).join(',\n')}\n${close}`
}

function limited(items: readonly string[], total: number): string[] {
  return total > MAX_ITEMS ? [...items.slice(0, MAX_ITEMS), `... ${total - MAX_ITEMS} more items`] : [...items]
}

function propertyItems(value: object, depth: number, seen: Seen, skipIndexes = false): string[] {
  const keys = Object.keys(value).filter((key) => !skipIndexes || !/^\d+$/.test(key))
  const items = keys.slice(0, MAX_ITEMS).map((key) => {
    const descriptor = Object.getOwnPropertyDescriptor(value, key)
    const shown = descriptor !== undefined && !('value' in descriptor) ? '[Getter]' : show(descriptor?.value, depth - 1, seen)
    return `${keyText(key)}: ${shown}`
  })
  const symbols = Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))
  return [
    ...limited(items, keys.length),
    ...symbols.map((key) => `[${String(key)}]: ${show(Reflect.get(value, key), depth - 1, seen)}`),
  ]
}

function errorText(error: Error, depth: number, seen: Seen): string {
  const head = typeof error.stack === 'string' && error.stack !== '' ? error.stack : `${error.name}: ${error.message}`
  const details = propertyItems(error, depth, seen)
  const cause = 'cause' in error ? [`[cause]: ${show(error.cause, depth - 1, seen)}`] : []
  const all = [...details, ...cause]
  return all.length === 0 ? head : `${head} ${joined('{', all, '}')}`
}

function collection(value: object, depth: number, seen: Seen): string | undefined {
  const inner = (item: unknown) => show(item, depth - 1, seen)
  if (Array.isArray(value))
    return joined(
      '[',
      [...limited(value.slice(0, MAX_ITEMS).map(inner), value.length), ...propertyItems(value, depth, seen, true)],
      ']',
    )
  if (value instanceof Map) {
    const items = [...value].slice(0, MAX_ITEMS).map(([key, item]) => `${inner(key)} => ${inner(item)}`)
    return joined(`Map(${value.size}) {`, limited(items, value.size), '}')
  }
  if (value instanceof Set)
    return joined(`Set(${value.size}) {`, limited([...value].slice(0, MAX_ITEMS).map(inner), value.size), '}')
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const items = value as Uint8Array
    return joined(
      `${typeName(value)}(${items.length}) [`,
      limited(Array.from(items.subarray(0, MAX_ITEMS), String), items.length),
      ']',
    )
  }
  return undefined
}

function leaf(value: object): string | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof RegExp) return String(value)
  if (value instanceof Promise) return 'Promise { ... }'
  if (value instanceof WeakMap || value instanceof WeakSet) return `${typeName(value)} { <items unknown> }`
  if (value instanceof ArrayBuffer) return `ArrayBuffer { byteLength: ${value.byteLength} }`
  return undefined
}

/** Web classes keep their state private: shows the entries that they iterate over. */
function webObject(value: object, depth: number, seen: Seen): string | undefined {
  const name = typeName(value)
  if (name === 'URL') return `URL ${quote(String(value))}`
  if (!['Headers', 'FormData', 'URLSearchParams'].includes(name)) return undefined
  const items = [...(value as Iterable<[string, unknown]>)].map(
    ([key, item]) => `${keyText(key)}: ${show(item, depth - 1, seen)}`,
  )
  return joined(`${name} {`, items, '}')
}

function showObject(value: object, depth: number, seen: Seen): string {
  if (seen.includes(value)) return '[Circular]'
  const simple = leaf(value)
  if (simple !== undefined) return simple
  const within = [...seen, value]
  if (value instanceof Error) return errorText(value, depth, within)
  if (depth < 0) return Array.isArray(value) ? '[Array]' : `[${typeName(value)}]`
  const special = collection(value, depth, within) ?? webObject(value, depth, within)
  if (special !== undefined) return special
  const name = typeName(value)
  return joined(name === 'Object' ? '{' : `${name} {`, propertyItems(value, depth, within), '}')
}

function show(value: unknown, depth: number, seen: Seen): string {
  if (typeof value === 'function') return functionText(value)
  if (typeof value !== 'object' || value === null) return primitive(value)
  try {
    return showObject(value, depth, seen)
  } catch {
    // Proxies and getters of the site may throw; logging must not.
    return '[cannot be shown]'
  }
}

/** Shows any value as text for people. Never throws. */
export function inspect(value: unknown, options: InspectOptions = {}): string {
  return show(value, options?.depth ?? 2, [])
}

function placeholder(code: string, value: unknown): string {
  switch (code) {
    case '%s':
      return typeof value === 'object' && value !== null
        ? inspect(value, { depth: 0 })
        : typeof value === 'bigint'
          ? `${value}n`
          : String(value)
    case '%d':
      return typeof value === 'object' ? 'NaN' : String(Number(value))
    case '%i':
      return String(Number.parseInt(String(value), 10))
    case '%f':
      return String(Number.parseFloat(String(value)))
    case '%j':
      return JSON.stringify(value) ?? 'undefined'
    case '%c':
      return ''
    default:
      return inspect(value, { depth: 4 })
  }
}

/** Joins values as `console.log` does: placeholders of a leading text first, then the rest with blanks. */
export function format(...values: readonly unknown[]): string {
  const [first, ...rest] = values
  if (typeof first !== 'string') return values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' ')
  let used = 0
  const head = first.replace(/%[sdifjoOc%]/g, (code) => {
    if (code === '%%') return rest.length === 0 ? code : '%'
    return used < rest.length ? placeholder(code, rest[used++]) : code
  })
  return [head, ...rest.slice(used).map((value) => (typeof value === 'string' ? value : inspect(value)))].join(' ')
}
