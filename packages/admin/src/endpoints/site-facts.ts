import * as z from 'zod/mini'
import type { ControlPlane, SiteSummary } from '../contract/control-plane.ts'

/** The fields of a site in listings. */
export const siteFields = () => ({
  id: z.string(),
  label: z.string(),
  hostnames: z.array(z.string()),
  root: z.string(),
  process: z.string(),
  tenant: z.nullable(z.string()),
  state: z.string(),
  generation: z.int(),
})

/** Render threads of a site in one host. */
export const poolSchema = () =>
  z.object({
    host: z.string(),
    pid: z.int(),
    site: z.string(),
    threads: z.int(),
    active: z.int(),
    queued: z.int(),
  })

/** An isolate of a site. */
export const isolateSchema = () =>
  z.object({
    site: z.string(),
    label: z.string(),
    host: z.string(),
    thread: z.int(),
    state: z.enum(['starting', 'idle', 'busy', 'ending']),
    started_at: z.nullable(z.string()),
    last_build_ms: z.number(),
    heap_bytes: z.nullable(z.int()),
    requests: z.int(),
  })

/** A route of a site. */
export const routeSchema = () =>
  z.object({
    pattern: z.string(),
    kind: z.enum(['page', 'handler', 'metadata']),
    file: z.string(),
    cache: z.optional(z.object({ mode: z.enum(['never', 'until_purged', 'timed']), secs: z.optional(z.number()) })),
  })

/** A server of a vhost file. */
export const vhostSchema = () => {
  const texts = () => z.array(z.string())
  return z.object({
    site: z.string(),
    place: z.string(),
    listen: texts(),
    default_for: texts(),
    names: texts(),
    locations: z.array(z.object({ match: z.string(), place: z.string(), content: z.string(), target: z.string() })),
  })
}

interface SiteFacts extends Pick<SiteSummary, 'id' | 'label' | 'hostnames' | 'root'> {
  readonly process: string
  readonly tenant: string | null
  readonly state: string
  readonly generation: number
}

/** Sites as listings show them, with the state that the master reports. */
export async function siteFacts({ sites }: ControlPlane, listed: readonly SiteSummary[]): Promise<SiteFacts[]> {
  const states = await sites.states()
  const generation = sites.generation()
  return listed.map(({ id, label, hostnames, root, tenant }) => {
    // A site of the newest configuration may not be known there yet.
    const { process = 'shared', state = 'starting' } = states.get(id) ?? {}
    return { id, label, hostnames, root, process, tenant: tenant ?? null, state, generation }
  })
}
