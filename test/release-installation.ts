import { chmodSync, cpSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Child, type Exit, repositoryRoot, SocketHolder, tempDir, tempSite, writeFiles } from '@svc/testkit'
import { type FakeUnit, fakeSystemd } from './fake-systemd.ts'

/**
 * In place of the real one, which takes a minute: what it would install is linked. `FAULT` makes a release that passes every check
 * before the swap.
 */
const NPM = `#!/bin/sh
set -e
repository=${repositoryRoot}
case $1 in
  install)
    [ "$FAULT" != full ] || { echo 'write error: No space left on device' >&2; exit 1; }
    mkdir node_modules
    for entry in "$repository"/node_modules/*; do
      case $entry in
        */@*) mkdir "node_modules/\${entry##*/}"; ln -s "$entry"/* "node_modules/\${entry##*/}/" ;;
        *) ln -s "$entry" node_modules/ ;;
      esac
    done ;;
  run)
    mkdir dist
    for entry in "$repository"/dist/*; do case "\${entry##*/}" in tests | code-cache) ;; *) cp -r "$entry" dist/ ;; esac; done
    case $FAULT in crash | silent | sick)
      mv dist/cli.js dist/whole.js; cp "$FAULTS/$FAULT.js" dist/cli.js; printf "\\nif (process.argv[2] !== 'serve') await import('./whole.js')\\n" >>dist/cli.js ;;
    esac ;;
esac
`
/** Of the checkout, as far as a release is made of it. */
const SOURCES = [
  ...['package.json', 'LICENSE', 'README.md', 'CHANGELOG.md', 'svc.config.toml.example', 'bin', 'systemd'],
  ...['packages/cli/template', 'packages/site/types'],
  ...['deploy.sh', 'deploy-health.mjs', 'release-directory.mjs', 'release'].map((name) => `scripts/${name}`),
]
const serving = (code: string) => `import { createServer } from 'node:http'\nif (process.argv[2] === 'serve') {\n${code}\n}\n`
const ready = "console.log(JSON.stringify({ event: 'ready', pid: process.pid }))"
const FAULTS = {
  'crash.js': serving("console.error('the release crashes'); process.exit(1)"),
  'silent.js': serving('setInterval(() => undefined, 1_000_000)'),
  'sick.js': serving(
    `createServer((_, response) => response.writeHead(503, { connection: 'close' }).end('sick')).listen({ fd: 3 }, () => ${ready})\nprocess.on('SIGTERM', () => process.exit(0))`,
  ),
}

/** The server's unit, whose sockets outlive it. */
class ServerUnit implements FakeUnit {
  readonly execStart: string
  mainPid = 0
  isActive = false
  restarts = 0
  readonly #holder: SocketHolder
  #superseded = Promise.withResolvers<boolean>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(holder: SocketHolder, execStart: string) {
    this.#holder = holder
    this.execStart = execStart
  }

  async stop(): Promise<void> {
    if (this.mainPid === 0) return
    process.kill(this.mainPid, 'SIGTERM')
    await this.#holder.ended()
    this.mainPid = 0
  }

  /** One at a time: another one ends the start in progress. */
  restart(): Promise<boolean> {
    this.restarts++
    this.#superseded.resolve(false)
    const superseded = Promise.withResolvers<boolean>()
    this.#superseded = superseded
    const run = this.#last.then(() => this.#restart(superseded.promise))
    this.#last = run.catch(() => false)
    return run
  }

  async #restart(superseded: Promise<boolean>): Promise<boolean> {
    this.isActive = false
    await this.stop()
    const pid = await this.#holder.start()
    this.mainPid = pid
    const ended = this.#holder.ended().then(() => {
      if (this.mainPid === pid) this.mainPid = 0
      return false
    })
    const isReady = await Promise.race([this.#holder.ready().then(() => true), ended, superseded])
    if (this.mainPid === pid) this.isActive = isReady
    return isReady
  }
}

/** The unit of a site with a process of its own. */
class SiteUnit implements FakeUnit {
  readonly execStart: string
  isActive = false
  readonly #start: () => Child
  #child: Child | undefined

  constructor(execStart: string, start: () => Child) {
    this.execStart = execStart
    this.#start = start
  }

  get mainPid(): number {
    return this.isActive ? (this.#child?.pid ?? 0) : 0
  }

  async stop(): Promise<void> {
    this.isActive = false
    await this.#child?.stop()
  }

  async restart(): Promise<boolean> {
    await this.stop()
    this.#child = this.#start()
    await this.#child.waitForLine('ready line', (line) => line.startsWith('{"event":"ready"'))
    this.isActive = true
    return true
  }
}

export interface Installation {
  readonly root: string
  readonly server: ServerUnit
  readonly site: SiteUnit
  readonly url: string
  deploy(args: readonly string[], env?: Readonly<Record<string, string>>): Child
}

export function exeOf(pid: number): string {
  return readlinkSync(`/proc/${pid}/exe`)
}

/** A checkout to deploy from, a directory to deploy to, and the units of both. Nothing runs. */
export async function install(t: TestContext, { site: mode = 'own' } = {}): Promise<Installation> {
  const dir = tempDir(t, 'releases')
  const root = join(dir, 'opt')
  const source = join(dir, 'source')
  for (const one of [root, source]) mkdirSync(one)
  for (const path of SOURCES) cpSync(join(repositoryRoot, path), join(source, path), { recursive: true })
  const page = (text: string) => ({ 'app/page.tsx': `export default () => <p>${text}</p>` })
  const [one, two] = [tempSite(t, page('one')), tempSite(t, page('two'))]
  const config = join(dir, 'svc.config.toml')
  const current = join(root, 'current')
  const execStart = `${current}/bin/node ${current}/dist/cli.js serve`
  const holder = await SocketHolder.open(t, 1, ['sh', '-c', `exec ${execStart} --config ${config}`])
  const sites = `[[sites]]\nid = "one"\nhostnames = ["one.test"]\nroot = "${one}"\nprocess = "${mode}"\n[[sites]]\nid = "two"\nhostnames = ["two.test"]\nroot = "${two}"\n`
  const url = `http://127.0.0.1:${holder.ports[0]}`
  writeFiles(dir, {
    'svc.config.toml': `[server]\nlisten = "${url.slice(7)}"\nworkers = 1\nstate_dir = "state"\nrun_dir = "run"\n[cache]\ndir = "cache"\n${sites}`,
    ...Object.fromEntries(Object.entries(FAULTS).map(([name, text]) => [`faults/${name}`, text])),
  })
  const server = new ServerUnit(holder, `${execStart} --config ${config}`)
  const site = new SiteUnit(`${execStart} --site one`, () => {
    const env = { ...process.env, SVC_SERVER__RUN_DIR: join(dir, 'run') }
    return new Child(t, `${current}/bin/node`, [`${current}/dist/cli.js`, 'serve', '--site', 'one'], {
      env,
      endSignal: 'SIGTERM',
    })
  })
  const env = await fakeSystemd(t, dir, { svc: server, 'svc-one': site })
  writeFileSync(join(dir, 'bin/npm'), NPM)
  chmodSync(join(dir, 'bin/npm'), 0o755)
  const common = ['--root', root, '--config', config, '--settle', '0', '--health-url', `${url}/__svc/health`]
  const deploy = (args: readonly string[], extra: Readonly<Record<string, string>> = {}) =>
    new Child(t, join(source, 'scripts/deploy.sh'), [...common, ...args], {
      env: { ...env, FAULTS: join(dir, 'faults'), ...extra },
    })
  return { root, server, site, url, deploy }
}

export function inService(root: string): string {
  return readlinkSync(join(root, 'current')).replace('releases/', '')
}

export async function ended(child: Child): Promise<Exit['code']> {
  const { code } = await child.exited
  return code
}
