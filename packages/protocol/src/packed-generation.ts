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

/** Unpacks a generation. Does not hold up the process. */
export async function unpackGeneration({ servers: texts, web, ...rest }: PackedGeneration): Promise<GenerationSpec> {
  const servers: ServerSpec[] = []
  const pacer = new Pacer()
  for (const text of texts) {
    // Written by `packGeneration`, on the other side of a channel that only the two of us have.
    servers.push(JSON.parse(text) as ServerSpec)
    if (pacer.isDue) await pacer.rest()
  }
  return { ...rest, web: { servers, ...web } }
}

/** What of a generation concerns a render host: it serves no request, and vhost files say nothing about rendering. */
export function withoutWeb(spec: GenerationSpec): GenerationSpec {
  return { ...spec, web: { servers: [], upstreams: [], maps: [] }, tls: {} }
}
