import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { oneOf } from '../../../contract/schemas.ts'
import { notAvailable } from '../../not-available.ts'

export const setWafMode = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/waf/mode',
  group: 'admin',
  access: 'super_admin',
  summary: 'Sets the mode of the firewall.',
  body: () => z.strictObject({ mode: oneOf(['off', 'monitor', 'block'], 'Mode of all rules.') }),
  handle: () => notAvailable('The web application firewall'),
})
