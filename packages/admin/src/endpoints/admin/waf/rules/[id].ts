import * as z from 'zod/mini'
import { endpoint } from '../../../../contract/endpoint.ts'
import { notAvailable } from '../../../not-available.ts'
import { ruleFields } from '../rule-fields.ts'

export const changeWafRule = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/waf/rules/:id',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Replaces a rule.',
  body: () => z.strictObject(ruleFields()),
  handle: () => notAvailable('The web application firewall'),
})

export const removeWafRule = endpoint({
  method: 'DELETE',
  path: '/__svc/admin/api/waf/rules/:id',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Removes a rule.',
  handle: () => notAvailable('The web application firewall'),
})
