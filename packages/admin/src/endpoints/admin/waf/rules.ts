import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { requireSite } from '../../../contract/own-sites.ts'
import { cursorField, pageFields, pageOf, rowOf } from '../../../contract/pages.ts'
import { success } from '../../../contract/schemas.ts'
import { usernameOf } from '../../../contract/scope.ts'
import { ruleFields, ruleId, ruleSchema } from './rule-fields.ts'

export const wafRules = endpoint({
  method: 'GET',
  path: '/__svc/admin/api/waf/rules',
  group: 'admin',
  access: 'viewer',
  summary: 'Lists the rules of the firewall, in their order.',
  query: () => z.strictObject(pageFields()),
  response: () => success({ rules: z.array(rowOf(ruleSchema())), cursor: cursorField() }),
  handle(plane, { query }) {
    const { rows, cursor } = pageOf(plane.waf.rules(), query, ({ id }) => id)
    return ok({ rules: rows, cursor })
  },
})

export const addWafRule = endpoint({
  method: 'POST',
  path: '/__svc/admin/api/waf/rules',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Adds a rule.',
  body: () => z.strictObject({ id: ruleId(), ...ruleFields() }),
  response: () => success({ rule: ruleSchema() }),
  async handle(plane, { body: rule, caller }) {
    if (rule.site !== undefined) requireSite(plane.sites, rule.site)
    await plane.waf.setRule({ id: rule.id, rule, isNew: true, username: usernameOf(caller) })
    return ok({ rule }, 201)
  },
})
