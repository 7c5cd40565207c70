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

/** Sites as listings show them, with the state that the master reports. */
export async function siteFacts({ sites }: ControlPlane, listed: readonly SiteSummary[]): Promise<Record<string, unknown>[]> {
  const states = await sites.states()
  const generation = sites.generation()
  return listed.map(({ id, label, hostnames, root, tenant }) => {
    // A site of the newest configuration may not be known there yet.
    const { process = 'shared', state = 'starting' } = states.get(id) ?? {}
    return { id, label, hostnames, root, process, tenant: tenant ?? null, state, generation }
  })
}
