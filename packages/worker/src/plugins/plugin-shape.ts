import { nearestName } from '@svc/core'
import type { Plugin, PluginHooks } from '@svc/site/types/plugin'
import { WorkerError } from '../errors/errors.ts'

export const HOOKS = ['onRequest', 'onRoute', 'beforeRender', 'onResponse', 'onError', 'onPurge', 'onReload'] as const
export type HookName = (typeof HOOKS)[number]

const KEYS = ['name', 'version', 'timeoutMs', 'cacheable', 'hooks'] as const
const DEFAULT_TIMEOUT_MS = 100
const MAX_TIMEOUT_MS = 10_000
const MAX_VERSION_CHARS = 64

/** Checked exports of a plugin. */
export type CheckedPlugin = Required<Omit<Plugin, 'hooks'>> & { readonly hooks: PluginHooks }

/**
 * Checks the default export of a plugin.
 * @param name as the file has it
 * @throws WORKER_PLUGIN
 */
export function checkPlugin(exported: unknown, name: string, file: string): CheckedPlugin {
  const refuse = (problem: string): never => {
    throw new WorkerError('WORKER_PLUGIN', `plugin ${file}: ${problem}`)
  }
  if (!isTable(exported)) return refuse('its default export is missing: expected `export default { name, version, hooks }`')
  for (const key of Object.keys(exported)) if (!isOneOf(KEYS, key)) refuse(unknown('key', key, KEYS))
  const { version, timeoutMs = DEFAULT_TIMEOUT_MS, cacheable = false, hooks } = exported
  if (exported['name'] !== name) refuse(`name must be "${name}", as its file says, not ${JSON.stringify(exported['name'])}`)
  if (typeof version !== 'string' || version === '' || version.length > MAX_VERSION_CHARS) return refuse('version must be a text')
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS))
    return refuse(`timeoutMs must be a number from 1 to ${MAX_TIMEOUT_MS}`)
  if (typeof cacheable !== 'boolean') return refuse('cacheable must be true or false')
  if (!isTable(hooks)) return refuse(`hooks must be an object with some of: ${HOOKS.join(', ')}`)
  for (const [key, hook] of Object.entries(hooks)) {
    if (!isOneOf(HOOKS, key)) refuse(unknown('hook', key, HOOKS))
    if (typeof hook !== 'function') refuse(`hooks.${key} must be a function`)
  }
  if (Object.keys(hooks).length === 0) refuse(`it has no hook: expected some of ${HOOKS.join(', ')}`)
  // A copy: a plugin that changes its export later changes nothing.
  return { name, version, timeoutMs, cacheable, hooks: { ...hooks } }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name)
}

function unknown(kind: string, name: string, known: readonly string[]): string {
  const near = nearestName(name, known)
  return `unknown ${kind} "${name}"${near === undefined ? `; known: ${known.join(', ')}` : `; did you mean "${near}"?`}`
}
