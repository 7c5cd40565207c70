import { type Guarded, guard } from '@svc/core'

/** A plugin as one worker runs it. */
export const pluginReport = guard.object({
  name: guard.string,
  hash: guard.string,
  version: guard.string,
  hooks: guard.arrayOf(guard.string),
  cacheable: guard.boolean,
  timeout_ms: guard.number,
  /** Null: it is not off. */
  off_reason: guard.nullable(guard.string),
  invocations: guard.number,
  errors: guard.number,
  last_error: guard.nullable(guard.string),
})
export type PluginReport = Guarded<typeof pluginReport>

/** A plugin is off in all workers, or is on again. */
export const pluginOff = guard.object({
  name: guard.string,
  hash: guard.string,
  /** Null: it is on. */
  reason: guard.nullable(guard.string),
})
export type PluginOff = Guarded<typeof pluginOff>

/** A plugin over all workers. */
export const pluginStatus = guard.object({
  name: guard.string,
  version: guard.string,
  file: guard.string,
  hooks: guard.arrayOf(guard.string),
  cacheable: guard.boolean,
  timeout_ms: guard.number,
  enabled: guard.boolean,
  /** `disabled`: it failed too often in a row. */
  state: guard.oneOf('active', 'off', 'disabled'),
  reason: guard.nullable(guard.string),
  invocations: guard.number,
  errors: guard.number,
  last_error: guard.nullable(guard.string),
})
export type PluginStatus = Guarded<typeof pluginStatus>

/** Enables or disables a plugin. */
export const pluginOrder = guard.object({ name: guard.string, enabled: guard.boolean, username: guard.string })
export type PluginOrder = Guarded<typeof pluginOrder>
