import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'

/** The root of the checkout. */
export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
/** Scratch space of the benchmarks; not part of the repository. */
export const workDir = join(repositoryRoot, 'bench/.work')
export const rowsSite = join(repositoryRoot, 'bench/sites/rows')

/** A site of a benchmark configuration. */
export interface BenchSite {
  readonly id: string
  readonly root: string
  /** Addresses that its pages may fetch from, beside public ones. */
  readonly fetchAllow?: readonly string[]
}

function readyUrl(output: string): string | undefined {
  const line = output.split('\n').find((text) => text.startsWith('{"event":"ready"') && text.endsWith('}'))
  return line === undefined ? undefined : (JSON.parse(line) as { listen: string[] }).listen[0]
}

/** Writes a configuration for these sites (host name `<id>.localhost`) and returns its path. One worker. */
export function writeConfig(name: string, sites: readonly BenchSite[], extra = '', hasAccessLog = false): string {
  const dir = join(workDir, name)
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'svc.config.toml')
  const places = `state_dir = "state"\nrun_dir = "run"`
  const head = `[server]\nlisten = "127.0.0.1:0"\nworkers = 1\n${places}\n\n[cache]\ndir = "cache"\n\n[logging]\naccess = ${hasAccessLog}\nlevel = "warn"\n\n[render]\nworkers = 1\n`
  const entries = sites.map(
    ({ id, root, fetchAllow = [] }) =>
      `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${root}"\nfetch_allow = ${JSON.stringify(fetchAllow)}\n`,
  )
  writeFileSync(file, `${head}\n${extra}\n${entries.join('\n')}`)
  return file
}

/** Starts this server with a configuration of `writeConfig`. */
export function startSvc(configFile: string, cores: 1 | 2 = 1): Promise<ServerProcess> {
  const args = ['serve', '--config', configFile]
  return startPinned({ command: join(repositoryRoot, 'bin/svc'), args, ready: readyUrl }, cores)
}
