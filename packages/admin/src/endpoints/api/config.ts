import * as z from 'zod/mini'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { success } from '../../contract/schemas.ts'

export const config = endpoint({
  method: 'GET',
  path: '/__svc/api/config',
  group: 'api',
  access: 'loopback',
  summary: 'Shows the configuration, secrets as `***`, and what was set at run time.',
  response: () =>
    success({
      generation: z.int(),
      config: z.looseObject({}),
      overridden: z.array(z.object({ key: z.string(), value: z.unknown(), at: z.iso.datetime(), username: z.string() })),
    }),
  async handle({ sites, instance }) {
    const [config, overridden] = await Promise.all([instance.config(), instance.overrides()])
    return ok({ generation: sites.generation(), config, overridden })
  },
})
