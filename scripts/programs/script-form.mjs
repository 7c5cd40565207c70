// Rewrites an ES module of the build as a script: a function that gets what the module imports and returns what it exports. Node.js
// keeps the compiled code of a module as it is before the module runs, without the functions that V8 compiles when they are called
// for the first time; code of a script can be kept after it has run (see program-start.mjs).
import { builtinModules } from 'node:module'
import { parseSync, Visitor } from 'oxc-parser'

const isBuiltin = (name) => builtinModules.includes(name.replace(/^node:/, ''))
const isOwn = (name) => name.startsWith('./') || name.startsWith('../')

/** @returns the expression that loads a module */
function loading(name) {
  if (isOwn(name)) return `__load(${JSON.stringify(name.slice(name.lastIndexOf('/') + 1))})`
  return isBuiltin(name) ? `__builtin(${JSON.stringify(name)})` : `require(${JSON.stringify(name)})`
}

/** @returns the expression of a default import: of CommonJS and of built-in modules it is the module itself */
const defaultOf = (name, module) => (isOwn(name) ? `${module}.default` : isBuiltin(name) ? module : `__default(${module})`)

const assignedNames = {
  Identifier: (node) => [node.name],
  ObjectPattern: (node) => node.properties.flatMap((property) => namesIn(property.value ?? property.argument)),
  ArrayPattern: (node) => node.elements.flatMap((element) => (element === null ? [] : namesIn(element))),
  AssignmentPattern: (node) => namesIn(node.left),
}
const namesIn = (node) => assignedNames[node.type]?.(node) ?? []

/** Nodes that assign a value, and their part with the names. */
const assignments = [
  ['AssignmentExpression', 'left'],
  ['UpdateExpression', 'argument'],
  ['ForInStatement', 'left'],
  ['ForOfStatement', 'left'],
]

/** Names among `exported` that the module assigns a value to after their declaration. */
function reassigned(program, exported, text) {
  const candidates = exported.filter((name) => new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`).test(text))
  const found = new Set()
  const note = (node) => {
    for (const name of namesIn(node)) if (candidates.includes(name)) found.add(name)
  }
  if (candidates.length > 0) {
    new Visitor(Object.fromEntries(assignments.map(([type, part]) => [type, (node) => note(node[part])]))).visit(program)
  }
  return found
}

/** Exports of a module by the names that others import: the local name, and whether its value changes after the module has run. */
function exportsOf(program, text) {
  const lists = program.body.filter(({ type }) => type === 'ExportNamedDeclaration')
  if (lists.some(({ source, declaration }) => source !== null || declaration !== null))
    throw new Error('esbuild exports lists of names')
  const entries = lists
    .flatMap(({ specifiers }) => specifiers)
    .map(({ exported, local }) => ({ name: exported.name, local: local.name }))
  const changing = reassigned(program, [...new Set(entries.map(({ local }) => local))], text)
  return entries.map((entry) => ({ ...entry, isChanging: changing.has(entry.local) }))
}

/** @returns what `rewrite` needs of each module of one build, by the name of its file */
export function readModule(text, file) {
  const { program, module, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`)
  return { text, file, program, module, exports: exportsOf(program, text) }
}

/** Nodes by the names of their parts that are names but no references. */
const labels = {
  ImportSpecifier: ['imported', 'local'],
  ExportSpecifier: ['exported', 'local'],
  MemberExpression: ['property'],
  Property: ['key'],
  MethodDefinition: ['key'],
  PropertyDefinition: ['key'],
}

/** Replaces references to imports whose value changes: they are read from the module at each use. */
function liveReferences(program, live) {
  if (live.size === 0) return []
  const edits = new Map()
  const skipped = new Set()
  const skipLabels = (node) => {
    if (!node.computed) for (const part of labels[node.type]) skipped.add(node[part].start)
    if (node.shorthand && live.has(node.key.name)) {
      edits.set(node.start, [node.start, node.end, `${node.key.name}: ${live.get(node.key.name)}`])
    }
  }
  new Visitor({
    ...Object.fromEntries(Object.keys(labels).map((type) => [type, skipLabels])),
    // A function that is called as a method would get the module as its `this`.
    CallExpression({ callee }) {
      if (callee.type !== 'Identifier' || !live.has(callee.name)) return
      edits.set(callee.start, [callee.start, callee.end, `(0, ${live.get(callee.name)})`])
    },
    Identifier({ start, end, name }) {
      if (live.has(name) && !skipped.has(start) && !edits.has(start)) edits.set(start, [start, end, live.get(name)])
    },
  }).visit(program)
  return [...edits.values()]
}

/** @returns the text of one import statement as a script, and the changing names among its own */
function importing({ moduleRequest, entries }, index, changingOf) {
  const name = moduleRequest.value
  const loaded = loading(name)
  if (entries.length === 0) return { text: `${loaded};`, live: [] }
  const module = `__module${index}`
  const parts = [`${module} = ${loaded}`]
  const live = []
  for (const { importName, localName } of entries) {
    const local = localName.value
    const isDefault = importName.kind === 'Default' || importName.name === 'default'
    if (importName.kind === 'NamespaceObject') parts.push(`${local} = ${module}`)
    else if (isDefault) parts.push(`${local} = ${defaultOf(name, module)}`)
    else if (changingOf(name).has(importName.name)) live.push([local, `${module}.${importName.name}`])
    else parts.push(`${local} = ${module}.${importName.name}`)
  }
  return { text: `const ${parts.join(', ')};`, live }
}

/** Marks the exports that a module has imported from another one, where their value changes. */
export function passChanges(modules) {
  let isDone = true
  for (const { module, exports } of modules.values()) {
    for (const { moduleRequest, entries } of module.staticImports) {
      const from = isOwn(moduleRequest.value)
        ? modules.get(moduleRequest.value.slice(moduleRequest.value.lastIndexOf('/') + 1))
        : undefined
      for (const { importName, localName } of entries) {
        const source = from?.exports.find(({ name }) => name === importName.name)
        const own = exports.find(({ local }) => local === localName.value)
        if (!source?.isChanging || own === undefined || own.isChanging) continue
        own.isChanging = true
        isDone = false
      }
    }
  }
  if (!isDone) passChanges(modules)
}

/**
 * Rewrites one module. Lines keep their numbers.
 * @param modules all modules of the build, by the name of their file without directories
 */
export function rewrite({ text, program, module, exports }, modules) {
  const changingOf = (name) => {
    const from = isOwn(name) ? modules.get(name.slice(name.lastIndexOf('/') + 1)) : undefined
    return new Set(from?.exports.filter((one) => one.isChanging).map((one) => one.name))
  }
  const imports = module.staticImports.map((one, index) => ({
    ...importing(one, index, changingOf),
    start: one.start,
    end: one.end,
  }))
  const live = new Map(imports.flatMap((one) => one.live))
  const requested = ({ moduleRequest: { start, end } }) => /^(["'])(.*)\1$/.exec(text.slice(start, end))?.[2]
  const lines = (start, end) => text.slice(start, end).replace(/[^\n]/g, '')
  const edits = [
    ...imports.map(({ start, end, text: statement }) => [start, end, `${statement}${lines(start, end)}`]),
    ...program.body.flatMap(({ type, start, end, declaration }) => {
      if (type === 'ExportNamedDeclaration') return [[start, end, lines(start, end)]]
      return type === 'ExportDefaultDeclaration' ? [[start, declaration.start, 'const __default_export = ']] : []
    }),
    ...module.dynamicImports.map((one) => {
      const name = requested(one)
      const isExternal = name === undefined || !(isOwn(name) || isBuiltin(name))
      if (isExternal) return [one.start, one.moduleRequest.start, '__import(']
      return [one.start, one.end, `Promise.resolve().then(() => ${loading(name)})`]
    }),
    ...module.importMetas.map(({ start, end }) => [start, end, '__meta']),
    ...liveReferences(program, live),
  ].sort(([a], [b]) => a - b)
  let out = ''
  let at = 0
  for (const [start, end, replacement] of edits) {
    if (start < at) throw new Error(`overlapping changes at ${start}: ${text.slice(start, start + 80)}`)
    out += text.slice(at, start) + replacement
    at = end
  }
  const hasExpression = program.body.some(({ type }) => type === 'ExportDefaultDeclaration')
  const returned = [
    ...exports.map(({ name, local, isChanging }) => {
      if (live.has(local)) return `get ${name}() { return ${live.get(local)} }`
      return isChanging ? `get ${name}() { return ${local} }` : `${name}: ${local}`
    }),
    ...(hasExpression ? ['default: __default_export'] : []),
  ]
  return `"use strict"; (function ({ __load, require, __builtin, __import, __default, __meta }) { ${out}${text.slice(at)}\nreturn { ${returned.join(', ')} }\n})`
}
