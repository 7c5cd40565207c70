import type { ServerSpec, WebSpec } from '@svc/config'
import { Pacer } from '@svc/core'
import type { GenerationSpec } from './generation.ts'

/**
 * A generation as it goes to a worker. A thousand servers of vhost files are a hundred thousand small objects, which take half a
 * second to come out of a message, all at once; as texts they come at once and are read in slices.
 */
export interface PackedGeneration extends Omit<GenerationSpec, 'web'> {
  /** Everything but the servers. */
  readonly web: Omit<WebSpec, 'servers'>
  /** JSON, one text for each server. */
  readonly servers: readonly string[]
}

/** Packs a generation. Does not hold up the process. */
export async function packGeneration(spec: GenerationSpec): Promise<PackedGeneration> {
  const { servers, ...web } = spec.web
  const texts: string[] = []
  const pacer = new Pacer()
  for (const server of servers) {
    texts.push(JSON.stringify(server))
    if (pacer.isDue) await pacer.rest()
  }
  return { ...spec, web, servers: texts }
}

/** Servers of the generation that was unpacked last, by their texts. */
export type KnownServers = Map<string, ServerSpec>

/**
 * Unpacks a generation. Does not hold up the process. Servers that are `known` are the very same objects again, which makes
 * comparing two generations cheap; from then on those of this generation are known.
 */
export async function unpackGeneration(
  { servers: texts, web, ...rest }: PackedGeneration,
  known: KnownServers = new Map(),
): Promise<GenerationSpec> {
  const servers: ServerSpec[] = []
  const pacer = new Pacer()
  for (const text of texts) {
    // Written by `packGeneration`, on the other side of a channel that only the two of us have.
    servers.push(known.get(text) ?? (JSON.parse(text) as ServerSpec))
    if (pacer.isDue) await pacer.rest()
  }
  known.clear()
  for (const [index, server] of servers.entries()) known.set(texts[index] ?? '', server)
  return { ...rest, web: { servers, ...web } }
}

/** The part of a generation that concerns a render host: it serves no request, and vhost files do not affect rendering. */
export function withoutWeb(spec: GenerationSpec): GenerationSpec {
  return { ...spec, web: { servers: [], upstreams: [], maps: [] }, tls: {} }
}
