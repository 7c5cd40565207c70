// Runs alone: it starts the command very often.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PRODUCT_VERSION } from '@svc/protocol'
import { tempDir } from '@svc/testkit'
import { runSvc, startSvc } from './run-svc.ts'

const wrong: readonly [args: string, message: RegExp, help: string][] = [
  ['', /Name a command/, 'svc --help'],
  ['serv', /unknown command "serv"; did you mean "serve"\?/, 'svc --help'],
  ['zap', /unknown command "zap"\n/, 'svc --help'],
  ['serve --lsten 1', /unknown option --lsten; did you mean --listen\?/, 'svc serve --help'],
  ['serve --no-such-thing', /unknown option --no-such-thing\n/, 'svc serve --help'],
  ['serve -- -x', /an argument cannot begin with "-"/, 'svc serve --help'],
  ['sites -- blog', /unexpected argument "blog"/, 'svc sites --help'],
  ['sites blog', /unexpected argument "blog"/, 'svc sites --help'],
  ['serve --config', /Not enough arguments following: config/, 'svc serve --help'],
  ['serve site --config f', /a directory and --config exclude each other/, 'svc serve --help'],
  ['config', /check, show, schema, reset, endpoints or credentials/, 'svc config --help'],
  ['config chek', /unknown command "config chek"; did you mean "check"\?/, 'svc config --help'],
  ['config rest', /unknown command "config rest"; did you mean "reset"\?/, 'svc config --help'],
  ['config reset', /an argument is missing/, 'svc config reset --help'],
  ['config endpoints', /list, show or disable/, 'svc config endpoints --help'],
  ['config endpoints lst', /unknown command "config endpoints lst"; did you mean "list"\?/, 'svc config endpoints --help'],
  ['config endpoints list all', /unexpected argument "all"/, 'svc config endpoints list --help'],
  ['config endpoints disable', /an argument is missing/, 'svc config endpoints disable --help'],
  [
    'config endpoints disable cache',
    /unknown group "cache"; valid are "health", "metrics", "api", "obs", "admin"\n/,
    'svc config endpoints disable --help',
  ],
  ['config credentials', /create, hash or token/, 'svc config credentials --help'],
  ['config credentials create', /username/, 'svc config credentials create --help'],
  ['config credentials create --username=', /--username is empty/, 'svc config credentials create --help'],
  [
    'config credentials create --username a --role root',
    /unknown role "root"; valid are "super_admin", "tenant_admin", "viewer"\n/,
    'svc config credentials create --help',
  ],
  [
    'config credentials create --username a --role tenant_admin',
    /role "tenant_admin" needs --tenant-id/,
    'svc config credentials create --help',
  ],
  [
    'config credentials create --username a --tenant-id t',
    /role "super_admin" has no tenant/,
    'svc config credentials create --help',
  ],
  ['config credentials create --username a --password=', /no password/, 'svc config credentials create --help'],
  ['config credentials hash', /no password/, 'svc config credentials hash --help'],
  ['config credentials hash my password', /unexpected argument "password"/, 'svc config credentials hash --help'],
  ['config credentials token', /username/, 'svc config credentials token --help'],
  ['config credentials token --username a --ttl 0', /--ttl must be a whole/, 'svc config credentials token --help'],
  ['config credentials token --username a --ttl 1.5', /--ttl must be a whole/, 'svc config credentials token --help'],
  ['config credentials token --username a --ttl soon', /--ttl must be a whole/, 'svc config credentials token --help'],
  ['config credentials token --username a --ttl 31536001', /from 1 to 31536000/, 'svc config credentials token --help'],
  ['routes', /an argument is missing/, 'svc routes --help'],
  ['purge', /l0, isr, proxy, modules or app/, 'svc purge --help'],
  ['purge iser', /unknown command "purge iser"; did you mean "isr"\?/, 'svc purge --help'],
  ['purge isr', /give either --tag or --pattern/, 'svc purge isr --help'],
  ['purge isr --tag a --pattern b', /--tag and --pattern exclude each other/, 'svc purge isr --help'],
  ['purge l0 --paths /a', /unknown option --paths; did you mean --path\?/, 'svc purge l0 --help'],
  ['purge l0 /a', /unexpected argument "\/a"/, 'svc purge l0 --help'],
  ['purge proxy', /host/, 'svc purge proxy --help'],
  ['purge app', /an argument is missing/, 'svc purge app --help'],
  ['workers', /Name a command: restart/, 'svc workers --help'],
  ['isolate flush', /an argument is missing/, 'svc isolate flush --help'],
  ['stop --timeout soon', /--timeout must be a number/, 'svc stop --help'],
]

test('a wrong command line exits 64 with a message and no stack trace, and prints no data', async () => {
  const outcomes = await Promise.all(wrong.map(([args]) => runSvc(args.split(' ').filter(Boolean))))
  for (const [index, [args, message, help]] of wrong.entries()) {
    const { code, stdout, stderr } = outcomes[index]!
    assert.equal(code, 64, `svc ${args}: ${stderr}`)
    assert.equal(stdout, '', args)
    assert.match(stderr, message)
    assert.ok(stderr.includes(`Run "${help}"`), stderr)
    assert.doesNotMatch(stderr, /\n\s+at /)
  }
})

/** Commands that only lead to others. */
const groups = ['', 'config', 'config endpoints', 'config credentials', 'purge', 'workers', 'isolate']

test('every command has help with an example, on standard output', async () => {
  const commands = [
    '',
    'serve',
    'config',
    'config check',
    'config show',
    'config schema',
    'config endpoints',
    'config endpoints list',
    'config endpoints show',
    'config endpoints disable',
    'config credentials',
    'config credentials create',
    'config credentials hash',
    'config credentials token',
    'reload',
    'stop',
    'status',
    'sites',
    'routes',
    'new',
    'purge',
    'purge l0',
    'purge isr',
    'purge proxy',
    'purge modules',
    'purge app',
    'workers',
    'workers restart',
    'isolate',
    'isolate flush',
  ]
  const outcomes = await Promise.all(commands.map((command) => runSvc([...command.split(' ').filter(Boolean), '--help'])))
  for (const [index, command] of commands.entries()) {
    const { code, stdout, stderr } = outcomes[index]!
    assert.deepEqual([code, stderr], [0, ''], command)
    assert.ok(stdout.startsWith(`svc ${command}`), stdout)
    assert.match(stdout, /Examples:\n {2}svc /, command)
    if (!groups.includes(command)) assert.match(stdout, /--config /, command)
  }
})

test('--version prints the version of the product', async (t) => {
  assert.deepEqual(await startSvc(t, ['--version']), { code: 0, stdout: `${PRODUCT_VERSION}\n`, stderr: '' })
})

test('serve rejects a missing directory or file with exit code 78 and one line each', async (t) => {
  const dir = tempDir(t)
  const [gone, file] = await Promise.all([
    startSvc(t, ['serve', 'gone'], { cwd: dir }),
    startSvc(t, ['serve', '--config', 'gone.toml', '--listen', '127.0.0.1:0'], { cwd: dir }),
  ])
  assert.deepEqual([gone.code, gone.stdout, gone.stderr], [78, '', `${dir}/gone: no such directory: ${dir}/gone\n`])
  assert.deepEqual([file.code, file.stdout, file.stderr], [78, '', `${dir}/gone.toml: no such file\n`])
})
