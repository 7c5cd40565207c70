import type { Config, ResolvedConfig } from '@svc/config'
import type { GenerationSpec } from '@svc/protocol'
import { resolveListen } from '../listen/resolve-listen.ts'

/** The addresses that a configuration names. */
export function listenNames(config: Config): string[] {
  return [config.server.listen, config.server.listen_tls].filter((name) => name !== undefined)
}

/**
 * Makes the value that all processes serve.
 * @param before what goes over from the generation before
 * @throws SUP_LISTEN when an address that was not open before cannot be opened
 */
export async function buildGeneration(
  generation: number,
  loaded: ResolvedConfig,
  { listen: held, loopToken }: Pick<GenerationSpec, 'listen' | 'loopToken'>,
): Promise<GenerationSpec> {
  const listen = await resolveListen(listenNames(loaded.config), held)
  const { config, sites, moduleDir, web } = loaded
  return Object.freeze({ generation, config, sites, moduleDir, loopToken, listen, web, tls: {} })
}
