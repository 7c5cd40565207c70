import { nearestName } from '@svc/core'
import * as z from 'zod'
import { formatPath, type KeyPath } from '../values/key-path.ts'
import { configSchema } from './config-schema.ts'

/** A node of the schema as JSON Schema, with the marks of this package. */
export interface SchemaNode {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: boolean | SchemaNode
  readonly items?: SchemaNode
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly SchemaNode[]
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  /** Says in words what a default is that is computed at load. */
  readonly computed?: string
  /** The value is never shown and may be given as `env:NAME` or `file:/path`. */
  readonly secret?: boolean
  /** The value is a path and becomes absolute. */
  readonly path?: boolean
  /** The value is a host name and becomes lower case. */
  readonly host?: boolean
}

let tree: SchemaNode | undefined

/** Returns the schema as a tree of plain data. A section is built when it is read: a file has few of them. */
export function schemaTree(): SchemaNode {
  tree ??= treeOf(configSchema)
  return tree
}

function treeOf(schema: z.ZodObject): SchemaNode {
  const sections = Object.entries(schema.shape)
  const properties = {}
  for (const [name, section] of sections) {
    const define = (value: PropertyDescriptor) =>
      Object.defineProperty(properties, name, { ...value, enumerable: true, configurable: true })
    define({
      get() {
        const { $schema: _version, ...node } = z.toJSONSchema(section as z.ZodType, { io: 'input' })
        define({ value: node })
        return node
      },
    })
  }
  const frame = schema.pick({}).describe(schema.description ?? '')
  return { ...(z.toJSONSchema(frame, { io: 'input' }) as SchemaNode), properties }
}

/** Returns the node of one key or index below a node; of several that a value may be, of the first that has it. */
function childOf(node: SchemaNode | undefined, part: string | number): SchemaNode | undefined {
  if (node?.anyOf !== undefined) return node.anyOf.map((one) => childOf(one, part)).find((child) => child !== undefined)
  if (typeof part === 'number') return node?.items
  const own = node?.properties?.[part]
  if (own !== undefined) return own
  return typeof node?.additionalProperties === 'object' ? node.additionalProperties : undefined
}

/** Returns the node at a path, or undefined when the schema has no such key. */
export function nodeAt(root: SchemaNode, path: KeyPath): SchemaNode | undefined {
  let node: SchemaNode | undefined = root
  for (const part of path) node = childOf(node, part)
  return node
}

/** Calls back for each value below `value` that is neither table nor array, with its node where the schema knows it. */
export function visitValues(
  node: SchemaNode | undefined,
  value: unknown,
  visit: (path: KeyPath, value: unknown, node: SchemaNode | undefined) => void,
  path: KeyPath = [],
): void {
  if (typeof value !== 'object' || value === null || value instanceof Date) {
    visit(path, value, node)
    return
  }
  const entries: Iterable<[string | number, unknown]> = Array.isArray(value) ? value.entries() : Object.entries(value)
  for (const [part, child] of entries) visitValues(childOf(node, part), child, visit, [...path, part])
}

function sectionsWith(root: SchemaNode, key: string): string[] {
  const found: string[] = []
  const look = (node: SchemaNode, path: KeyPath) => {
    for (const [name, child] of Object.entries(node.properties ?? {})) {
      if (name === key) found.push(formatPath([...path, name]))
      look(child, [...path, name])
    }
  }
  look(root, [])
  return found
}

function keysOf(node: SchemaNode | undefined): string[] {
  return [node ?? {}, ...(node?.anyOf ?? [])].flatMap(({ properties = {} }) => Object.keys(properties))
}

/** Returns advice on an unknown key below `parent`: a near name, or the section that has this key. */
export function suggestKey(root: SchemaNode, parent: KeyPath, key: string): string | undefined {
  const near = nearestName(key, keysOf(nodeAt(root, parent)))
  if (near !== undefined) return `did you mean "${near}"?`
  const [elsewhere, ...others] = sectionsWith(root, key)
  if (elsewhere === undefined || others.length > 0) return undefined
  return elsewhere === key ? `"${key}" belongs to the top level of the file` : `did you mean "${elsewhere}"?`
}
