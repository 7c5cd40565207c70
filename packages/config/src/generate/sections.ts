import { type SchemaNode, schemaTree } from '../schema/schema-tree.ts'

/** A key of a section. */
export interface SectionKey {
  readonly name: string
  readonly node: SchemaNode
  readonly isRequired: boolean
}

/** A table of the config file with the keys that stand in it. */
export interface Section {
  /** Name in the file, such as `cache.isr`; "" for the top level. */
  readonly name: string
  /** True if there may be several: `[[name]]`. */
  readonly isArray: boolean
  readonly node: SchemaNode
  readonly keys: readonly SectionKey[]
}

function isTableArray(node: SchemaNode): boolean {
  return node.items?.properties !== undefined
}

function collect(name: string, node: SchemaNode, isArray: boolean, sections: Section[]): void {
  const table = isArray ? (node.items ?? {}) : node
  const children = Object.entries(table.properties ?? {})
  // Tables within an element of a list are written inline or explained as one key: a section of their own would repeat.
  const isOwnSection = (child: SchemaNode) => !isArray && (child.properties !== undefined || isTableArray(child))
  const keys = children
    .filter(([, child]) => !isOwnSection(child))
    .map(([key, child]) => ({ name: key, node: child, isRequired: table.required?.includes(key) === true }))
  if (keys.length > 0 || table.properties === undefined) sections.push({ name, isArray, node, keys })
  for (const [key, child] of children) {
    if (isOwnSection(child)) collect(name === '' ? key : `${name}.${key}`, child, isTableArray(child), sections)
  }
}

/** Lists all sections of the config file in the order of the schema. */
export function listSections(): Section[] {
  const sections: Section[] = []
  for (const [key, node] of Object.entries(schemaTree().properties ?? {})) collect(key, node, isTableArray(node), sections)
  return sections
}
