import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { PROCESS_WAIT_MS, repositoryRoot, svcCommand, tempDir, waitFor } from '@svc/testkit'

/** Free ports in place of 80, 443, 8080, 8443, and 3000, where an upstream listens. */
type Ports = Readonly<Record<'http' | 'first' | 'https' | 'trial' | 'upstream', number>>

/** A directory tree with the paths of a machine, where the package has been installed and its unit runs. */
export interface Machine {
  /** Directory that stands for the root of the machine. */
  readonly root: string
  /** Puts the paths and addresses of this machine in place of those of a page. */
  placed(text: string): string
  /** Ends an nginx that was started by `systemctl`. */
  stopNginx(): void
  /** Runs a command in a shell that all commands share. @returns its output and exit code */
  run(command: string): Promise<{ readonly text: string; readonly code: number }>
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
function writePrograms(bin: string, root: string, ports: Ports): void {
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
case $* in
  'disable --now nginx')
    pid=$(cat ${root}/nginx.pid)
    kill -QUIT "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    exit ;;
  'enable --now nginx' | 'start nginx') exec nginx -p ${root} -e stderr -c ${root}/etc/nginx/nginx.conf ;;
  'enable svc') exit ;;
  'disable --now svc') stop; exit ;;
esac
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
function placed(command: string, root: string, ports: Ports): string {
  return command
    .replaceAll(
      /(?<![\w/.-])\/(etc\/svc|etc\/nginx|etc\/letsencrypt|srv|var\/www|var\/lib\/svc|root)(?=[/\s"'*;.]|$)/gm,
      `${root}/$1`,
    )
    .replaceAll(/(?<=s\|)\/(root\/trial|etc\/nginx)\/\|\/(etc\/nginx)\/\|/g, `${root}/$1/|${root}/$2/|`)
    .replaceAll(/-C \/(?=\s|$)/g, `-C ${root}`)
    .replaceAll(/0\.0\.0\.0:80(?!\d)/g, `127.0.0.1:${ports.http}`)
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${ports.upstream}`)
    .replaceAll('0.0.0.0:443', `127.0.0.1:${ports.https}`)
    .replaceAll(/listen 80(?!\d)/g, `listen 127.0.0.1:${ports.http}`)
    .replaceAll(/listen 443(?!\d)/g, `listen 127.0.0.1:${ports.https}`)
    .replaceAll(/http:\/\/127\.0\.0\.1:80(?!\d)/g, `http://127.0.0.1:${ports.http}`)
    .replaceAll(/https:\/\/127\.0\.0\.1:443(?!\d)/g, `https://127.0.0.1:${ports.https}`)
    .replaceAll('listen 127.0.0.1:8443', `listen 127.0.0.1:${ports.trial}`)
    .replaceAll(/(listen(?: = ")? ?)127\.0\.0\.1:8080/g, `$1127.0.0.1:${ports.first}`)
}

/** Starts the server that the pages call an upstream. @returns its port */
async function startUpstream(t: TestContext): Promise<number> {
  const server = createHttpServer((_request, response) => response.end('from the upstream\n')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

async function startTree(t: TestContext) {
  const root = tempDir(t, 'guide')
  const [first = 0, http = 0, https = 0, trial = 0] = await freePorts(4)
  const ports = { first, http, https, trial, upstream: await startUpstream(t) }
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

/** Starts the machine; it ends with the test. */
export async function startMachine(t: TestContext): Promise<Machine> {
  const { root, ports, env } = await startTree(t)
  const shell = spawn('bash', [], { cwd: root, env, stdio: ['pipe', 'pipe', 'pipe'] })
  t.after(() => shell.kill())
  let output = ''
  let count = 0
  shell.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  // One pipe: lines of both streams come in their order, and before the mark.
  shell.stdin.write('exec 2>&1\n')
  return {
    root,
    placed: (text) => placed(text, root, ports),
    stopNginx: () => {
      const file = join(root, 'nginx.pid')
      if (existsSync(file)) process.kill(Number(readFileSync(file, 'utf8')))
    },
    run: async (command) => {
      const mark = `--- ${++count} `
      output = ''
      shell.stdin.write(`${placed(command, root, ports)}\ncode=$?; echo "${mark}$code"\n`)
      const end = new RegExp(`${mark}\\d+\\n`)
      await waitFor(command, () => end.test(output) || shell.exitCode !== null, PROCESS_WAIT_MS)
      const [text = '', code = ''] = output.split(mark)
      return { text: text === '' || text.endsWith('\n') ? text : `${text}\n`, code: code === '' ? -1 : Number(code) }
    },
  }
}
