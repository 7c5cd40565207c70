import type { ModuleFormat } from '../contract/isolate.ts'
import { GuestError } from '../host/host.ts'
import { builtinFor, builtinModule } from './builtins.ts'
import {
  type CssModule,
  type Dependencies,
  evaluate,
  type ModuleLinks,
  type ModuleRecord,
  moduleRecord,
  type OwnBuiltin,
} from './evaluate.ts'
import { commonJsOfNamespace, type Namespace, namespaceOfCommonJs, namespaceOfExports } from './interop.ts'

const builtinPrefix = 'builtin:'
const records = new Map<string, ModuleRecord>()
/** Modules that were evicted and not defined again: requests that began before may still need them. */
const retired = new Map<string, ModuleRecord>()
const builtinNamespaces = new Map<string, Namespace>()
/** CSS of a module's graph by module id, forgotten with any change of the registry. */
const cssCache = new Map<string, readonly StyleSheet[]>()
let runs = 0
let attempt = 0

/** One style sheet that a module graph uses. */
interface StyleSheet {
  /** Id of the CSS module: its absolute path. */
  readonly id: string
  readonly css: string
}

/** Lets modules that failed run again: called once per request. */
export function beginAttempt(): void {
  attempt++
}

/** Adds or replaces a module; nothing runs. Throws GUEST_MISUSE for a built-in id. */
export function defineModule(id: string, format: ModuleFormat, dependencies: Dependencies, source: unknown): void {
  if (id.startsWith(builtinPrefix)) throw new GuestError('GUEST_MISUSE', `${id} cannot be defined`)
  records.set(id, moduleRecord(id, format, dependencies, source))
  retired.delete(id)
  cssCache.clear()
}

/**
 * Drops modules and their instances. The caller names all that depend on them too, and defines the modules of a request before it
 * begins: later changes are for requests in flight.
 */
export function evictModules(ids: readonly string[]): void {
  for (const id of ids) {
    const record = records.get(id)
    if (record !== undefined) retired.set(id, record)
    records.delete(id)
  }
  cssCache.clear()
}

function findRecord(id: string): ModuleRecord | undefined {
  return records.get(id) ?? retired.get(id)
}

/** True if a module is defined. */
export function hasModule(id: string): boolean {
  return records.has(id)
}

function linksOf(record: ModuleRecord): ModuleLinks {
  return {
    import: (specifier) => {
      const target = targetOf(record, specifier)
      const own = ownBuiltin(record, target)
      return own === undefined ? requireModule(target) : own.namespace
    },
    require: (specifier) => {
      const target = targetOf(record, specifier)
      return ownBuiltin(record, target)?.exports ?? requireExports(target)
    },
  }
}

/** A built-in module of which every importer has its own. */
function ownBuiltin(record: ModuleRecord, target: string): OwnBuiltin | undefined {
  if (!target.startsWith(builtinPrefix)) return undefined
  const known = record.ownBuiltins.get(target)
  if (known !== undefined) return known
  const exports = builtinFor(target.slice(builtinPrefix.length), record.id)
  if (exports === undefined) return undefined
  const made = { exports, namespace: namespaceOfExports(exports) }
  record.ownBuiltins.set(target, made)
  return made
}

function targetOf(record: ModuleRecord, specifier: string): string {
  const target = Object.hasOwn(record.dependencies, specifier) ? record.dependencies[specifier] : undefined
  if (target?.startsWith('!')) throw new GuestError('MODULE_NOT_FOUND', target.slice(1))
  if (target !== undefined) return target
  if (builtinModule(specifier) !== undefined) return builtinPrefix + specifier
  throw new GuestError('MODULE_NOT_FOUND', `Cannot find module '${specifier}' imported from ${record.id}`)
}

function recordOf(id: string): ModuleRecord {
  const record = findRecord(id)
  if (record === undefined) throw new GuestError('MODULE_NOT_FOUND', `Module ${id} is not loaded`)
  return record
}

/** Runs a module unless it has run or is running (a cycle). */
function ensureRun(record: ModuleRecord): void {
  const { state } = record
  if (state.kind === 'done' || state.kind === 'running') return
  if (state.kind === 'failed' && state.attempt === attempt) throw state.error
  record.state = { kind: 'running' }
  try {
    // A sheet that another one composes classes from comes first.
    if (record.format === 'css') for (const target of Object.values(record.dependencies)) requireModule(target)
    record.order = ++runs
    evaluate(record, linksOf(record))
    record.state = { kind: 'done' }
  } catch (error) {
    record.state = { kind: 'failed', error, attempt }
    throw error
  }
}

function builtinExports(id: string): Readonly<Record<string, unknown>> {
  const exports = builtinModule(id.slice(builtinPrefix.length))
  if (exports === undefined)
    throw new GuestError('MODULE_NOT_FOUND', `There is no built-in module '${id.slice(builtinPrefix.length)}'`)
  return exports
}

function builtinNamespace(id: string): Namespace {
  const known = builtinNamespaces.get(id)
  if (known !== undefined) return known
  const namespace = namespaceOfExports(builtinExports(id))
  builtinNamespaces.set(id, namespace)
  return namespace
}

/**
 * Returns the namespace of a module as `import * as` sees it, running it first when needed. In a cycle it may be incomplete.
 * Throws what the module threw, or MODULE_NOT_FOUND.
 */
export function requireModule(id: string): Namespace {
  if (id.startsWith(builtinPrefix)) return builtinNamespace(id)
  const record = recordOf(id)
  ensureRun(record)
  if (record.format === 'cjs' && record.namespace === undefined) {
    // While it runs its exports still grow; later they are read once, as Node does.
    if (record.state.kind === 'running') return namespaceOfCommonJs(() => record.module.exports)
    record.namespace = namespaceOfExports(record.module.exports)
  }
  if (record.namespace === undefined) throw new GuestError('GUEST_MISUSE', `Module ${id} has no namespace`)
  return record.namespace
}

/** Returns a module as `require()` sees it: `module.exports`, or the marked namespace of an ES module. */
function requireExports(id: string): unknown {
  if (id.startsWith(builtinPrefix)) return builtinExports(id)
  const record = recordOf(id)
  ensureRun(record)
  return record.format === 'esm' && record.namespace !== undefined ? commonJsOfNamespace(record.namespace) : record.module.exports
}

function collectCss(id: string, seen: Set<string>, found: ModuleRecord[]): void {
  if (seen.has(id)) return
  seen.add(id)
  const record = findRecord(id)
  if (record === undefined) return
  for (const dependency of Object.values(record.dependencies)) collectCss(dependency, seen, found)
  if (record.format === 'css') found.push(record)
}

/** Returns the style sheets that a module's graph imports, in the order in which they were first imported. */
export function cssOf(id: string): readonly StyleSheet[] {
  const known = cssCache.get(id)
  if (known !== undefined) return known
  const found: ModuleRecord[] = []
  collectCss(id, new Set(), found)
  const sheets = found
    .toSorted((a, b) => (a.order === b.order ? 0 : a.order - b.order))
    .map((record) => ({ id: record.id, css: (JSON.parse(String(record.source)) as CssModule).css }))
  // Before all of them ran their order is not known for good.
  if (found.every((record) => record.state.kind === 'done')) cssCache.set(id, sheets)
  return sheets
}
