import { type SchemaNode, schemaTree, visitValues } from './schema/schema-tree.ts'
import type { Config } from './schema/types.ts'
import { type KeyPath, setAt } from './values/key-path.ts'

/** Placeholder for a secret. */
const REDACTED = '***'

const userInfo = /\/\/[^/?#@\s]+@/g

/** Values of environment variables are as often secret as not, so none is shown. */
function isEnvironment(path: KeyPath): boolean {
  return path[0] === 'env' || (path[0] === 'sites' && path[2] === 'env')
}

function shown(path: KeyPath, value: unknown, node: SchemaNode | undefined): unknown {
  if (node?.secret === true || isEnvironment(path)) return REDACTED
  return typeof value === 'string' ? value.replace(userInfo, `//${REDACTED}@`) : value
}

/** Returns a copy of a configuration for display: secrets, environment values and credentials in URLs as `***`. */
export function redact(config: Config): Config {
  const copy = structuredClone(config)
  visitValues(schemaTree(), config, (path, value, node) => setAt(copy, path, shown(path, value, node)))
  return copy
}
