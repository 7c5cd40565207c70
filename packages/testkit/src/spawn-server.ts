import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Child } from './processes/child.ts'
import { type Cleanup, tempDir, writeFiles } from './processes/temp-dir.ts'

/** The ready line of the product. */
export interface ReadyLine {
  readonly event: 'ready'
  readonly pid: number
  readonly listen: readonly string[]
  readonly workers: number
  readonly sites: number
  readonly generation: number
  readonly took_ms: number
}

/** A running product. */
export interface Server {
  readonly child: Child
  readonly ready: ReadyLine
  /** First listen address as a URL without trailing slash. */
  readonly url: string
  readonly configFile: string | undefined
}

/** How to start the product: a configuration as text, or a directory to serve. */
export interface ServerOptions {
  /** Text of the configuration file. `server.listen` on a free port is added unless it is named. */
  readonly config?: string
  readonly dir?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** The root of the checkout. */
export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
export const svcCommand = join(repositoryRoot, 'bin/svc')

function environment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS')
  // For a run of tests with another engine than usual.
  const engine = process.env['TEST_ENGINE']
  return {
    ...Object.fromEntries(inherited),
    ...(engine === undefined ? {} : { SVC_SERVER__ENGINE: engine, SVC_SERVER__ENGINE_TLS: engine }),
    ...extra,
  }
}

/** Separate directories for a server under test, so that it touches nothing else, root or not. */
function withPlaces(config: string, dir: string): string {
  const listen = /^\[server\]/m.test(config) ? '' : '[server]\nlisten = "127.0.0.1:0"\n'
  const places = `state_dir = "${dir}/state"\nrun_dir = "${dir}/run"\n`
  const server = listen === '' ? config.replace(/^\[server\]\n/m, `[server]\n${places}`) : `${listen}${places}\n${config}`
  return /^\[cache\]/m.test(server)
    ? server.replace(/^\[cache\]\n/m, `[cache]\ndir = "${dir}/cache"\n`)
    : `${server}\n[cache]\ndir = "${dir}/cache"\n`
}

/** Starts the product as a user would and waits for its ready line. It ends with the test. */
export async function startServer(t: Cleanup, options: ServerOptions): Promise<Server> {
  const places = tempDir(t, 'svc-run')
  const args = ['serve', ...(options.args ?? [])]
  let configFile: string | undefined
  const env: Record<string, string> = { ...options.env }
  if (options.dir !== undefined) {
    args.push(options.dir, '--listen', '127.0.0.1:0')
    Object.assign(env, {
      SVC_SERVER__STATE_DIR: `${places}/state`,
      SVC_SERVER__RUN_DIR: `${places}/run`,
      SVC_CACHE__DIR: `${places}/cache`,
    })
  } else {
    configFile = join(places, 'svc.config.toml')
    writeFiles(places, { 'svc.config.toml': withPlaces(options.config ?? '', places) })
    args.push('--config', configFile)
  }
  const child = new Child(t, svcCommand, args, { cwd: places, env: environment(env) })
  const line = await child.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  const ready = JSON.parse(line) as ReadyLine
  return { child, ready, url: ready.listen[0] ?? '', configFile }
}
