import { type SchemaNode, schemaTree } from '../schema/schema-tree.ts'

/** Turns the marks of this package into words and keywords that every JSON Schema tool knows. */
function publish(node: SchemaNode): Record<string, unknown> {
  const { computed, secret, path: _path, host: _host, properties, items, additionalProperties, ...plain } = node
  const published: Record<string, unknown> = { ...plain }
  if (computed !== undefined) published.description = `${node.description} Default: ${computed}.`
  if (secret === true) {
    published.writeOnly = true
    // A reference such as env:NAME has another form than the secret itself.
    delete published.pattern
  }
  if (properties !== undefined) {
    published.properties = Object.fromEntries(Object.entries(properties).map(([key, child]) => [key, publish(child)]))
  }
  if (items !== undefined) published.items = publish(items)
  if (additionalProperties !== undefined) {
    published.additionalProperties =
      typeof additionalProperties === 'object' ? publish(additionalProperties) : additionalProperties
  }
  return published
}

/** Returns the JSON Schema (draft 2020-12) of the config file. */
export function schemaJson(): Record<string, unknown> {
  return { title: 'svc.config.toml', ...publish(schemaTree()) }
}
