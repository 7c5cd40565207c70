import type { ListenName, ResolvedConfig } from '@svc/config'
import type { GenerationSpec } from '@svc/protocol'
import { resolveListen } from '../listen/resolve-listen.ts'

/** A configuration to be served. */
export interface ServableConfig extends ResolvedConfig {
  /** The addresses that it names. */
  readonly listen: readonly ListenName[]
}

/**
 * Makes the value that all processes serve.
 * @param before what goes over from the generation before
 * @throws SUP_LISTEN when an address that was not open before cannot be opened
 */
export async function buildGeneration(
  generation: number,
  loaded: ServableConfig,
  { listen: held, loopToken }: Pick<GenerationSpec, 'listen' | 'loopToken'>,
): Promise<GenerationSpec> {
  const listen = await resolveListen(loaded.listen, held)
  const { config, sites, moduleDir, web } = loaded
  return Object.freeze({ generation, config, sites, moduleDir, loopToken, listen, web, tls: {} })
}
