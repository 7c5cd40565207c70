import * as z from 'zod/mini'
import { endpoint, ok } from '../../../../contract/endpoint.ts'
import { requireSite } from '../../../../contract/own-sites.ts'
import { invalidField } from '../../../../contract/refusals.ts'
import { success, text } from '../../../../contract/schemas.ts'
import { usernameOf } from '../../../../contract/scope.ts'
import { ruleFields, ruleSchema } from '../rule-fields.ts'

export const changeWafRule = endpoint({
  method: 'PUT',
  path: '/__svc/admin/api/waf/rules/:id',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Replaces a rule.',
  body: () => z.strictObject({ id: z.optional(text('Id of the rule, as in the path.')), ...ruleFields() }),
  response: () => success({ rule: ruleSchema() }),
  async handle(plane, { params: { id = '' }, body, caller }) {
    if (body.site !== undefined) requireSite(plane.sites, body.site)
    if (body.id !== undefined && body.id !== id) return invalidField('id', `must be "${id}", as in the path`)
    const rule = { ...body, id }
    await plane.waf.setRule({ id, rule, isNew: false, username: usernameOf(caller) })
    return ok({ rule })
  },
})

export const removeWafRule = endpoint({
  method: 'DELETE',
  path: '/__svc/admin/api/waf/rules/:id',
  group: 'admin',
  access: 'tenant_admin',
  summary: 'Removes a rule.',
  response: () => success({ id: z.string() }),
  async handle(plane, { params: { id = '' }, caller }) {
    await plane.waf.removeRule({ id, username: usernameOf(caller) })
    return ok({ id })
  },
})
