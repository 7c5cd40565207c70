import type { ListenName, LoadedCertificate, ResolvedConfig } from '@svc/config'
import type { GenerationSpec } from '@svc/protocol'
import { resolveListen } from '../listen/resolve-listen.ts'
import type { Certificates } from '../tls/certificates.ts'

/** A configuration to be served. */
export interface ServableConfig extends ResolvedConfig {
  /** The addresses that it names. */
  readonly listen: readonly ListenName[]
  /** Every certificate that it names. */
  readonly certificates: readonly LoadedCertificate[]
}

/** What a generation is made with. */
interface GenerationParts extends Pick<GenerationSpec, 'listen' | 'loopToken'> {
  readonly certificates: Pick<Certificates, 'tlsFor'>
}

/**
 * Makes the value that all processes serve.
 * @param parts `listen` and `loopToken` go over from the generation before
 * @throws SUP_LISTEN when an address that was not open before cannot be opened, SUP_NO_CERTIFICATE
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
