import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { notAvailable } from '../../not-available.ts'

export const changePlugin = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/plugins/:name',
  group: 'admin',
  access: 'super_admin',
  summary: 'Enables or disables a plugin.',
  body: () => z.strictObject({ enabled: z.boolean().check(z.describe('False: its hooks are skipped.')) }),
  handle: () => notAvailable('The loader of plugins'),
})
