import * as z from 'zod/mini'
import { endpoint, ok } from '../../../contract/endpoint.ts'
import { success } from '../../../contract/schemas.ts'

const MAX_CHARS = 1024 * 1024

export const validateConfig = endpoint({
  method: 'POST',
  path: '/__svc/api/config/validate',
  group: 'api',
  access: 'loopback',
  summary: 'Checks a text as if it were the config file.',
  body: () => z.strictObject({ toml: z.string().check(z.maxLength(MAX_CHARS), z.describe('Content of a config file.')) }),
  response: () => success({ sites: z.int(), notices: z.array(z.string()) }),
  async handle(plane, { body }) {
    const { problems, ...facts } = await plane.instance.check(body.toml)
    if (problems.length === 0) return ok(facts)
    return { problem: { status: 422, code: 'invalid_config', detail: 'The configuration is invalid.', errors: problems } }
  },
})
