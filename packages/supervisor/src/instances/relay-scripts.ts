import { type RelayedScript, runRelayed } from '@svc/cache'
import { ReplyWithBytes } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { GenerationSpec } from '@svc/protocol'
import type { Instances } from './instances.ts'

/** Runs a script of a render host on the shared cache. `label`: of the one site that the host is for; undefined: it is for all. */
export type RelayHandler = (
  call: RelayedScript,
  bytes: Uint8Array | undefined,
  label?: string,
) => Promise<ReplyWithBytes<{ words: string[] }> | { words: string[] }>

/** Render hosts have no connection to Redis: they run code of sites. */
export function relayTo(instances: () => Instances | undefined, spec: () => GenerationSpec): RelayHandler {
  return async (call, bytes = new Uint8Array(0), label) => {
    const shared = instances()
    if (shared === undefined) throw new SupervisorError('SUP_NOT_READY', 'there is no Redis that instances share')
    const { config, sites } = spec()
    const mayUse = (one: string) => (label === undefined ? sites.some((site) => site.label === one) : one === label)
    const { words, entry } = await runRelayed(shared.commands, config.redis.key_prefix, call, bytes, mayUse)
    const reply = { words: [...words] }
    return entry === undefined ? reply : new ReplyWithBytes(reply, entry)
  }
}
