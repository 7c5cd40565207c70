import * as z from 'zod'
import { hostPattern, integer, secret, section, text } from './fields.ts'

const user = z
  .strictObject({
    username: text().max(256).describe('Name to log in with.'),
    password_hash: secret()
      .regex(/^\$argon2id\$/, 'expected an argon2id hash in its encoded form ("$argon2id$v=19$...")')
      .describe('argon2id hash of the password in encoded form. `svc config credentials hash` prints one.'),
    role: z.enum(['super_admin', 'tenant_admin', 'viewer']).describe('Role of the user.'),
    tenant_id: text().optional().describe('Tenant of a tenant_admin. Other roles must not set it.'),
  })
  .describe('A user of the management interface.')
  .meta({
    examples: [
      {
        username: 'alice',
        password_hash: '$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>',
        role: 'tenant_admin',
        tenant_id: 'shop',
      },
    ],
  })

/** `[admin]`: the panel, its users and tokens. */
export const admin = section('Admin panel, its users and tokens.', {
  enabled: z.boolean().default(false).describe('Enables the admin panel.'),
  jwt_secret: secret()
    .optional()
    .describe('Secret that signs admin tokens, at least 32 bytes.')
    .meta({ examples: ['env:SVC_JWT_SECRET'] }),
  session_ttl_secs: integer(60).default(3600).describe('Lifetime of an admin token or session in seconds.'),
  hosts: z
    .array(hostPattern())
    .optional()
    .describe('Hosts of the admin and obs pages, where session cookies count. While the panel is on, no site answers there.')
    .meta({ computed: 'loopback names, and IP addresses that no site claims', examples: [['admin.example.org']] }),
  users: z.array(user).default([]).describe('Users of the management interface.'),
})

/** `[endpoints]`: which groups of built-in endpoints are there. */
export const endpoints = section('Groups of built-in endpoints. A disabled group answers 404.', {
  health: z.boolean().default(true).describe('Health endpoints.'),
  metrics: z.boolean().default(true).describe('Metrics endpoints.'),
  api: z.boolean().default(true).describe('Management endpoints.'),
  obs: z.boolean().default(true).describe('Observability endpoints.'),
  admin: z
    .boolean()
    .optional()
    .describe('Endpoints below `/__svc/admin/`.')
    .meta({ computed: '`admin.enabled`', examples: [true] }),
})
