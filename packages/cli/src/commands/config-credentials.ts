import type { Config } from '@svc/config'
import { ExitCode, sessionLimits } from '@svc/protocol'
import { command, commandGroup } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { printData, printMessage, printResult } from '../command-line/output.ts'
import { readPassword } from '../command-line/password.ts'
import { loadOrComplain, type SourceArgs, withConfigOption, withPlatform } from '../command-line/source-options.ts'

type User = Config['admin']['users'][number]

interface CreateArgs {
  readonly username: string
  readonly role: User['role']
  readonly password: string | undefined
  readonly 'tenant-id': string | undefined
  readonly json: boolean
}
interface HashArgs {
  readonly password: string | undefined
}
interface TokenArgs extends SourceArgs {
  readonly username: string
  readonly ttl: number | undefined
}

const roles = ['super_admin', 'tenant_admin', 'viewer'] as const satisfies readonly User['role'][]

const REMINDER = `# Add this to the config file. Also set, in [admin]: enabled = true, and jwt_secret to a random text of at
# least 32 bytes (as "env:NAME" or "file:/path" if others can read the config file).`

const create = command<CreateArgs>({
  usage: 'create',
  describe: 'Print an [[admin.users]] entry for the config file, with a hashed password',
  options: (yargs) =>
    withConfigOption(yargs)
      .option('username', { type: 'string', demandOption: true, requiresArg: true, describe: 'Name to log in with' })
      .option('role', { choices: roles, default: 'super_admin' as const, requiresArg: true, describe: 'Role of the user' })
      .option('tenant-id', { type: 'string', requiresArg: true, describe: 'Tenant of a tenant_admin' })
      .option('password', { type: 'string', requiresArg: true, describe: 'Password [default: ask, or read a line of stdin]' })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON instead of TOML' })
      .example('$0 config credentials create --username alice >> svc.config.toml', 'asks for the password'),
  run: async ({ username, role, 'tenant-id': tenantId, json, ...args }) => {
    if (username === '') throw new CliError('CLI_USAGE', '--username is empty')
    if (role === 'tenant_admin' && !tenantId) throw new CliError('CLI_USAGE', 'role "tenant_admin" needs --tenant-id')
    if (role !== 'tenant_admin' && tenantId !== undefined) {
      throw new CliError('CLI_USAGE', `role "${role}" has no tenant: leave --tenant-id out, or give --role tenant_admin`)
    }
    const password = await readPassword(args.password)
    const [{ hashPassword }, { configToml }] = await Promise.all([import('@svc/auth'), import('@svc/config')])
    const user: User = { username, password_hash: await hashPassword(password), role, tenant_id: tenantId }
    return printResult(json, user, `${REMINDER}\n${configToml({ admin: { users: [user] } }).trimEnd()}`)
  },
})

const hash = command<HashArgs>({
  usage: 'hash [password]',
  describe: 'Print the argon2id hash of a password',
  options: (yargs) =>
    withConfigOption(yargs)
      .positional('password', { type: 'string', describe: 'Password [default: ask, or read a line of stdin]' })
      .example('$0 config credentials hash', 'asks for the password')
      .example('$0 config credentials hash < password.txt', 'the first line of a file'),
  run: async (args) => {
    const password = await readPassword(args.password)
    const { hashPassword } = await import('@svc/auth')
    printData(await hashPassword(password))
    return ExitCode.ok
  },
})

const token = command<TokenArgs>({
  usage: 'token',
  describe: 'Print a token with which a configured user can call the endpoints',
  options: (yargs) =>
    withPlatform(yargs)
      .option('username', { type: 'string', demandOption: true, requiresArg: true, describe: 'Name of the user' })
      .option('ttl', { type: 'number', requiresArg: true, describe: 'Lifetime in seconds [default: admin.session_ttl_secs]' })
      .example('$0 config credentials token --username alice --ttl 600', 'a token for ten minutes'),
  run: async ({ username, ttl, ...args }) => {
    if (ttl !== undefined && !(Number.isInteger(ttl) && ttl >= 1 && ttl <= sessionLimits.ttlSecs)) {
      throw new CliError('CLI_USAGE', `--ttl must be a whole number of seconds from 1 to ${sessionLimits.ttlSecs}`)
    }
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    const { admin } = loaded.config
    const user = admin.users.find((one) => one.username === username)
    if (user === undefined) {
      const known = admin.users.map((one) => one.username).join(', ')
      throw new CliError(
        'CLI_USAGE',
        `no user "${username}" in the configuration; ${known === '' ? 'it has none' : `there are: ${known}`}`,
      )
    }
    if (admin.jwt_secret === undefined) {
      throw new CliError('CLI_CONFIG', 'admin.jwt_secret is not set: set it to a random text of at least 32 bytes')
    }
    if (!admin.enabled) printMessage('notice: admin.enabled is false: the server accepts no token')
    const { newTokenId, signToken, tokenKey } = await import('@svc/auth')
    const issuedAt = Date.now()
    const expiresAt = issuedAt + (ttl ?? admin.session_ttl_secs) * 1000
    const claims = { username, role: user.role, tenantId: user.tenant_id, jti: newTokenId(), issuedAt, expiresAt }
    printData(await signToken(claims, tokenKey(admin.jwt_secret)))
    return ExitCode.ok
  },
})

/** `svc config credentials` with its commands. */
export const credentialCommands = commandGroup({
  name: 'credentials',
  describe: 'Make password hashes and tokens for users of the management interface',
  example: ['$0 config credentials create --username alice', 'an entry for the config file'],
  commands: { create, hash, token },
})
