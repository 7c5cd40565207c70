import { wholeOf } from '@svc/vhosts'
import { type SchemaNode, suggestKey } from '../schema/schema-tree.ts'
import type { Finding } from '../values/finding.ts'
import { isTable, type Table } from '../values/key-path.ts'
import type { ConfigDocument } from './document.ts'
import { parseToml } from './parse-toml.ts'

/** Variables by name, as `process.env` has them. */
export type Variables = Readonly<Record<string, string | undefined>>

const PREFIX = 'SVC_'
const overrideName = /^SVC_(.+?__.+)$/

interface Target {
  readonly path: string[]
  /** Undefined when the schema has no such key. */
  readonly node: SchemaNode | undefined
}

/** Finds the key that a variable names. Names of keys are lower case; keys of dictionaries are taken as they are. */
function targetOf(root: SchemaNode, levels: readonly string[]): Target {
  const path: string[] = []
  let node: SchemaNode | undefined = root
  for (const level of levels) {
    const key = level.toLowerCase()
    const property: SchemaNode | undefined = node?.properties?.[key]
    const isDictionary: boolean = property === undefined && typeof node?.additionalProperties === 'object'
    path.push(isDictionary ? level : key)
    node = isDictionary ? (node?.additionalProperties as SchemaNode) : property
  }
  return { path, node }
}

type Coerced = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string }

function inlineValue(text: string): Coerced {
  const parsed = parseToml(`value = ${text}`, '')
  return parsed.ok
    ? { ok: true, value: parsed.data.value }
    : { ok: false, message: `not a TOML value: ${parsed.problem.message}` }
}

function scalarOrList(node: SchemaNode, text: string): unknown {
  switch (node.type) {
    case 'integer':
    case 'number':
      return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : text
    case 'boolean':
      return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text
    case 'array':
      return text === '' ? [] : text.split(',').map((item) => item.trim())
    default:
      return text
  }
}

/** Reads a variable's text as a value of the type that the key has. A text that does not fit stays as it is, and the schema rejects it. */
function coerce(node: SchemaNode, text: string): Coerced {
  const isInline = node.type === 'object' || (node.type === 'array' && text.trimStart().startsWith('['))
  return isInline ? inlineValue(text) : { ok: true, value: scalarOrList(node, text) }
}

function assign(data: Table, path: readonly string[], value: unknown): void {
  let table = data
  for (const key of path.slice(0, -1)) {
    const next = table[key] ?? {}
    // A section that is not a table is refused by the schema; the override has nowhere to go.
    if (!isTable(next)) return
    table[key] = next
    table = next
  }
  table[path.at(-1) ?? ''] = value
}

/**
 * Applies variables of the form `SVC_<SECTION>__<KEY>` (double underscore between levels) to a document. Numbers and booleans
 * are written plainly, lists of texts with commas, other lists and tables as TOML values. Relative paths start from `cwd`.
 */
export function applyEnvOverrides(document: ConfigDocument, root: SchemaNode, variables: Variables, cwd: string): Finding[] {
  return Object.entries(variables).flatMap(([name, text]) => {
    const levels = overrideName.exec(name)?.[1]?.split('__')
    if (levels === undefined || text === undefined) return []
    const { path, node } = targetOf(root, levels)
    document.overlay(path, cwd, () => wholeOf(`environment variable ${name}`), 'environment')
    if (node !== undefined) {
      const coerced = coerce(node, text)
      if (!coerced.ok) return [{ path, message: coerced.message }]
      assign(document.data, path, coerced.value)
      return []
    }
    return [{ path, message: 'unknown key', hint: suggestKey(root, path.slice(0, -1), path.at(-1) ?? '') }]
  })
}

/** Splits a name at single underscores into the key of the schema that it may mean. */
function meantKey(node: SchemaNode | undefined, name: string): string[] | undefined {
  const keys = Object.keys(node?.properties ?? {})
  if (keys.includes(name)) return [name]
  for (const key of keys.filter((one) => name.startsWith(`${one}_`))) {
    const rest = meantKey(node?.properties?.[key], name.slice(key.length + 1))
    if (rest !== undefined) return [key, ...rest]
  }
  return undefined
}

/**
 * Warns of variables that name a key with single underscores between its levels: such a one overrides nothing.
 * @param secretNames variables that the document refers to: they may have any name
 */
export function overrideNotices(root: SchemaNode, variables: Variables, secretNames: readonly string[]): string[] {
  return Object.keys(variables).flatMap((name) => {
    if (!name.startsWith(PREFIX) || overrideName.test(name) || secretNames.includes(name)) return []
    const key = meantKey(root, name.slice(PREFIX.length).toLowerCase())
    if (key === undefined || key.length === 1) return []
    return [`environment variable ${name} has no effect: did you mean ${PREFIX}${key.join('__').toUpperCase()}?`]
  })
}
