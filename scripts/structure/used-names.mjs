import { parseSync, Visitor } from 'oxc-parser'

/**
 * The modules that a source names as expressions or in types, `import('...')`: `{ specifier, isType, isDynamic, names }`; names
 * undefined where the source takes the module as a whole.
 */
export function dynamicImports(path, text) {
  if (!/\bimport\(/.test(text)) return []
  const patterns = new Map()
  const found = []
  /** Remembers what a pattern takes of an import: `const { a } = await import()`, also through Promise.all. */
  const relate = (pattern, value) => {
    const inner = value?.type === 'AwaitExpression' ? value.argument : value
    if (inner?.type === 'ImportExpression') patterns.set(inner, namesOfPattern(pattern))
    const list = inner?.type === 'CallExpression' ? inner.arguments[0] : undefined
    if (list?.type !== 'ArrayExpression' || pattern.type !== 'ArrayPattern') return
    for (const [index, element] of list.elements.entries()) {
      if (pattern.elements[index]) relate(pattern.elements[index], element)
    }
  }
  const add = (source, isType, names) => {
    if (typeof source.value === 'string') found.push({ specifier: source.value, isType, isDynamic: true, names })
  }
  new Visitor({
    VariableDeclarator({ id, init }) {
      relate(id, init)
    },
    ImportExpression(node) {
      add(node.source, false, patterns.get(node))
    },
    TSImportType({ source, qualifier }) {
      add(source, true, qualifier === null ? undefined : [firstName(qualifier)])
    },
  }).visit(parseSync(path, text).program)
  return found
}

function namesOfPattern(pattern) {
  if (pattern.type !== 'ObjectPattern') return
  const names = pattern.properties.map(({ type, computed, key }) => (type === 'Property' && !computed ? key.name : undefined))
  return names.includes(undefined) ? undefined : names
}

const firstName = (qualifier) => (qualifier.type === 'TSQualifiedName' ? firstName(qualifier.left) : qualifier.name)

/** The members that a source reads of `import * as <local>`; undefined if it also uses the namespace as a whole. */
export function membersOf(local, text) {
  const uses = [...text.matchAll(new RegExp(`(?<![\\w$])(?<!(?<!\\.\\.)\\.)${local}\\b(?:\\.(\\w+))?`, 'g'))]
  const members = uses.map(([, member]) => member)
  // The import itself is the one use without a member.
  return members.filter((member) => member === undefined).length > 1
    ? undefined
    : members.filter((member) => member !== undefined)
}
