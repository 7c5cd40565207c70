import * as z from 'zod/mini'
import { endpoint } from '../../../contract/endpoint.ts'
import { text } from '../../../contract/schemas.ts'
import { notAvailable } from '../../not-available.ts'
import { ruleFields } from './rule-fields.ts'

export const wafRules = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/waf/rules',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the rules of the firewall.',
  handle: () => notAvailable('The web application firewall'),
})

export const addWafRule = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/waf/rules',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Adds a rule.',
  body: () => z.strictObject({ id: text('Id of the rule.', 64), ...ruleFields() }),
  handle: () => notAvailable('The web application firewall'),
})
