import type { ListenName, LoadedCertificate, ResolvedConfig } from '@svc/config'
import type { GenerationSpec } from '@svc/protocol'
import { resolveListen } from '../listen/resolve-listen.ts'
import type { Certificates } from '../tls/certificates.ts'

/** A configuration to serve. */
export interface ServableConfig extends ResolvedConfig {
  /** The addresses that it names. */
  readonly listen: readonly ListenName[]
  /** Every certificate that it names. */
  readonly certificates: readonly LoadedCertificate[]
}

/** Inputs of a generation. */
interface GenerationParts extends Pick<GenerationSpec, 'listen' | 'loopToken'> {
  readonly certificates: Pick<Certificates, 'tlsFor'>
}

/**
 * Builds the generation that all processes serve.
 * @param parts `listen` and `loopToken` are those of the previous generation
 * @throws SUP_LISTEN if a new address cannot be opened, SUP_NO_CERTIFICATE
 */
export async function buildGeneration(
  generation: number,
  loaded: ServableConfig,
  { listen: held, loopToken, certificates }: GenerationParts,
): Promise<GenerationSpec> {
  const listen = await resolveListen(loaded.listen, held)
  const { config, sites, moduleDir, web } = loaded
  const tls = await certificates.tlsFor(listen, loaded)
  return Object.freeze({ generation, config, sites, moduleDir, loopToken, listen, web, tls })
}
