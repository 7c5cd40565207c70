import { nearestName } from '@svc/core'
import { formatPath, type KeyPath } from '../values/key-path.ts'
import { nodeAt, type SchemaNode } from './schema-tree.ts'

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

/** Says what an unknown key below `parent` may have been meant to be: a near name, or the section that has this key. */
export function suggestKey(root: SchemaNode, parent: KeyPath, key: string): string | undefined {
  const near = nearestName(key, Object.keys(nodeAt(root, parent)?.properties ?? {}))
  if (near !== undefined) return `did you mean "${near}"?`
  const [elsewhere, ...others] = sectionsWith(root, key)
  if (elsewhere === undefined || others.length > 0) return undefined
  return elsewhere === key ? `"${key}" belongs to the top level of the file` : `did you mean "${elsewhere}"?`
}
