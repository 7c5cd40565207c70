import { resolve } from 'node:path'
import { type SchemaNode, visitValues } from '../schema/schema-tree.ts'
import { normalizeHostPattern } from '../values/addresses.ts'
import { setAt } from '../values/key-path.ts'
import type { ConfigDocument } from './document.ts'

/**
 * Brings values to the one form that the rest of the program reads: paths absolute, host names lower case and ASCII. Malformed
 * values stay as they are, and the schema rejects them.
 */
export function normalizeValues(document: ConfigDocument, root: SchemaNode): void {
  visitValues(root, document.data, (path, value, node) => {
    if (typeof value !== 'string' || value === '') return
    if (node?.path === true) setAt(document.data, path, resolve(document.directoryOf(path), value))
    else if (node?.host === true) setAt(document.data, path, normalizeHostPattern(value) ?? value)
  })
}
