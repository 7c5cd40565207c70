// Starts first: it runs the commands of the operator's guide.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { PROCESS_WAIT_MS, repositoryRoot, requireProgram, svcCommand, tempDir, waitFor } from '@svc/testkit'

const guide = readFileSync(join(repositoryRoot, 'docs/operators-guide.md'), 'utf8')

/** Commands of the page that reach beyond a directory tree, and a test of their own. */
const ELSEWHERE = /^(?:npm install && npm run package:deb|apt install .*)$/

/** Output that the page promises, by the command that prints it. */
const PROMISED: Readonly<Record<string, RegExp>> = {
  'systemctl is-active svc': /^active$/m,
  'svc status': /ready/,
  'svc config check': /ok/,
  "curl -s -H 'host: shop.example.org' http://127.0.0.1:8080/": /<h1>Shop<\/h1>/,
  "curl -s -H 'host: docs.example.org' http://127.0.0.1:8080/": /^plain files$/m,
  'svc sites': /shop[\s\S]*docs\.example\.org/,
  'curl -s --cacert /etc/svc/tls/shop.crt https://shop.example.org/': /<h1>Shop<\/h1>/,
  'curl -s -H "authorization: Bearer $TOKEN" http://localhost/__svc/admin/api/overview': /"sites"/,
  'curl -s http://localhost/__svc/health': /"status":"(?:ok|healthy)/,
  "curl -s http://localhost/__svc/metrics | grep -c '^http_requests_total'": /^[1-9]/m,
  'curl -s -H "authorization: Bearer $TOKEN" http://localhost/__svc/obs/alerts': /worker_crash_loop/,
  'svc routes shop': /\//,
}

/** The commands of the blocks of shell, one block after another; a command may have several lines. */
function commandsOf(page: string): string[] {
  const blocks = Array.from(page.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, text = '']) => text)
  return blocks.flatMap((block) => {
    const commands: string[] = []
    let pending = ''
    let end: string | undefined
    for (const line of block.trimEnd().split('\n')) {
      pending += pending === '' ? line : `\n${line}`
      if (end === undefined && / <<'(\w+)'$/.test(line)) end = /<<'(\w+)'$/.exec(line)?.[1]
      else if (end !== undefined && line === end) end = undefined
      if (end !== undefined || line.endsWith('\\')) continue
      if (pending.trim() !== '') commands.push(pending)
      pending = ''
    }
    return commands
  })
}

/** Ports that were free a moment ago: the page names addresses, so they cannot be chosen at the start. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

/** Programs that stand before those of the machine: a service manager of one unit, and a client that finds the test's ports. */
function writePrograms(bin: string, root: string, ports: Readonly<Record<'http' | 'first' | 'https', number>>): void {
  const program = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}`)
    chmodSync(join(bin, name), 0o755)
  }
  mkdirSync(bin)
  symlinkSync(svcCommand, join(bin, 'svc'))
  program('journalctl', 'cat "$UNIT_LOG"\n')
  const to = [`:80:127.0.0.1:${ports.http}`, `:443:127.0.0.1:${ports.https}`, `:8080:127.0.0.1:${ports.first}`]
  program(
    'curl',
    `exec ${spawnSync('which', ['curl']).stdout.toString().trim()} ${to.map((one) => `--connect-to ${one}`).join(' ')} "$@"\n`,
  )
  program(
    'systemctl',
    `pid=$(cat ${root}/unit.pid 2>/dev/null)
stop() { [ -z "$pid" ] || { kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done; rm -f ${root}/unit.pid; }; }
start() {
  : > "$UNIT_LOG"
  setsid ${svcCommand} serve >> "$UNIT_LOG" 2>&1 &
  echo $! > ${root}/unit.pid
  until grep -q '"event":"ready"' "$UNIT_LOG"; do kill -0 $! || exit 1; sleep 0.05; done
}
case $1 in
  is-active) kill -0 "$pid" && echo active ;;
  start) start ;;
  stop) stop ;;
  restart) stop; start ;;
  *) echo "systemctl: unknown command $1" >&2; exit 1 ;;
esac
`,
  )
}

/** Replaces the paths and addresses of a machine by those of the test. */
function placed(command: string, root: string, ports: Readonly<Record<'http' | 'first' | 'https', number>>): string {
  return command
    .replaceAll(/(?<![\w/.-])\/(etc\/svc|srv|var\/lib\/svc|root)(?=[/\s"'*;.]|$)/gm, `${root}/$1`)
    .replaceAll(/-C \/(?=\s|$)/g, `-C ${root}`)
    .replaceAll('"0.0.0.0:80"', `"127.0.0.1:${ports.http}"`)
    .replaceAll('0.0.0.0:80\\n', `127.0.0.1:${ports.http}\\n`)
    .replaceAll('"0.0.0.0:80"', `"127.0.0.1:${ports.http}"`)
    .replaceAll('0.0.0.0:443', `127.0.0.1:${ports.https}`)
    .replaceAll('listen = "0.0.0.0:80"', `listen = "127.0.0.1:${ports.http}"`)
    .replaceAll('listen 80;', `listen 127.0.0.1:${ports.http};`)
    .replaceAll(/(listen(?: = ")? ?)127\.0\.0\.1:8080/g, `$1127.0.0.1:${ports.first}`)
}

async function startTree(t: TestContext) {
  const root = tempDir(t, 'guide')
  const [first = 0, http = 0, https = 0] = await freePorts(3)
  const ports = { first, http, https }
  for (const dir of ['etc/svc', 'root', 'srv', 'var/lib/svc', 'var/cache/svc', 'run/svc']) {
    mkdirSync(join(root, dir), { recursive: true, mode: 0o700 })
  }
  // As the package installs it.
  const shipped = readFileSync(join(repositoryRoot, 'packaging/debian/svc.config.toml'), 'utf8')
  const config = placed(shipped, root, ports).replaceAll(/"\/(var|run)\//g, `"${root}/$1/`)
  writeFileSync(join(root, 'etc/svc/svc.config.toml'), config)
  const bin = join(root, 'bin')
  writePrograms(bin, root, ports)
  const env = {
    PATH: `${bin}:${process.env['PATH']}`,
    SVC_CONFIG: join(root, 'etc/svc/svc.config.toml'),
    UNIT_LOG: join(root, 'unit.log'),
  }
  t.after(() => spawnSync(join(bin, 'systemctl'), ['stop'], { env }))
  assert.equal(spawnSync(join(bin, 'systemctl'), ['start'], { env }).status, 0, 'the package starts the unit')
  return { root, ports, env }
}

test("each command of the operator's guide does what the guide says", async (t) => {
  if (requireProgram(t, 'curl') === undefined) return
  const { root, ports, env } = await startTree(t)
  const shell = spawn('bash', [], { cwd: root, env, stdio: ['pipe', 'pipe', 'pipe'] })
  t.after(() => shell.kill())
  let output = ''
  let count = 0
  for (const stream of [shell.stdout, shell.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  /** One shell for all: later commands use variables of earlier ones. */
  const run = async (command: string): Promise<string> => {
    const mark = `--- ${++count} `
    output = ''
    shell.stdin.write(`${placed(command, root, ports)}\ncode=$?; echo; echo "${mark}$code"\n`)
    const end = new RegExp(`${mark}\\d+\\n`)
    await waitFor(command, () => end.test(output) || shell.exitCode !== null, PROCESS_WAIT_MS)
    const [text = '', code = ''] = output.split(mark)
    assert.equal(code.trim(), '0', `${command}\n${text}`)
    return text
  }
  const commands = commandsOf(guide)
  const codes: string[] = []
  const promised = new Set(Object.keys(PROMISED))
  for (const command of commands) {
    if (ELSEWHERE.test(command)) continue
    const text = await run(command)
    const name = command.replace(/ +#[^\n]*$/, '')
    promised.delete(name)
    assert.match(text, PROMISED[name] ?? /^/, command)
    const code = /'%\{http_code\}\\n' /.test(command) ? text.trim().split('\n')[0] : undefined
    if (code !== undefined) codes.push(code)
  }
  assert.deepEqual([...promised], [], 'commands that are no longer in the guide')
  assert.deepEqual(codes, ['503', '200'], 'in maintenance after the restore, and out of it')
  assert.ok(commands.length > 40, String(commands.length))
})

test('names of codes, alerts, metrics and keys in the guides are those of the server', () => {
  const known = [
    'docs/reference/errors.md',
    'docs/reference/config.md',
    'docs/monitoring.md',
    'docs/observability.md',
    'docs/certificates.md',
  ]
    .map((name) => readFileSync(join(repositoryRoot, name), 'utf8'))
    .join('\n')
  const page = readFileSync(join(repositoryRoot, 'docs/troubleshooting.md'), 'utf8')
  const names = Array.from(page.matchAll(/`([a-z]+(?:_[a-z0-9]+)+)`/g), ([, name = '']) => name)
  assert.ok(names.length > 10)
  assert.deepEqual(
    names.filter((name) => !new RegExp(`\\b${name}\\b`).test(known)),
    [],
  )
})
