import { readFileSync } from 'node:fs'
import { Child, type Cleanup, type HttpAnswer, PROCESS_WAIT_MS, type Server, svcCommand, waitFor } from '@svc/testkit'
import { runDirOf, sitesOf } from './control.ts'

/** Process that runs the code of a site. */
export type SiteProcess = 'in-process' | 'own'

/** The process of a site that has one of its own. */
export interface Unit {
  readonly child: Child
  readonly ready: { readonly pid: number; readonly site: string; readonly socket: string; readonly generation: number }
}

/** Starts the unit of a site as a service manager would: the environment names the run directory, and nothing else of the server. */
export function spawnUnit(t: Cleanup, runDir: string, site: string, env: Readonly<Record<string, string>> = {}): Child {
  const path = process.env['PATH'] ?? ''
  const named = { PATH: path, SVC_SERVER__RUN_DIR: runDir, SVC_MASQUERADE_ROUTE_WATCH_MS: '100', ...env }
  return new Child(t, svcCommand, ['serve', '--site', site], { env: named, cwd: '/' })
}

/** Starts the unit of a site and waits until it is ready. */
export async function startUnit(t: Cleanup, runDir: string, site: string): Promise<Unit> {
  const child = spawnUnit(t, runDir, site)
  const line = await child.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  return { child, ready: JSON.parse(line) as Unit['ready'] }
}

/** Waits until a site is in a state. */
export function siteState(server: Server, site: string, state: string): Promise<unknown> {
  return waitFor(
    `the site ${site} to be ${state}`,
    async () => {
      return (await sitesOf(server)).some((one) => one.id === site && one.state === state)
    },
    PROCESS_WAIT_MS,
  )
}

/** Starts the unit of a site and waits until the server sends it requests. */
export async function attachUnit(t: Cleanup, server: Server, site: string): Promise<Unit> {
  const unit = await startUnit(t, runDirOf(server), site)
  await siteState(server, site, 'ok')
  return unit
}

/**
 * For loads: a site whose process restarts answers, or says that it will in a moment. Requests wait for it for some seconds, which
 * may be too few for a machine under load.
 */
export function wellOrSoon({ status, headers, text }: HttpAnswer): string | undefined {
  const isSoon = status === 503 && headers['retry-after'] !== undefined
  return status === 200 || isSoon ? undefined : `${status} ${text.slice(0, 200)}`
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    // It has ended.
    return ''
  }
}

/** The pid of the render host that a unit has started. */
export function renderHostOf({ ready: { pid } }: Unit): Promise<number> {
  return waitFor(
    'the render host of the unit',
    () => {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
      return children.map(Number).find((child) => child > 0 && commandOf(child).includes('render-host'))
    },
    PROCESS_WAIT_MS,
  )
}
