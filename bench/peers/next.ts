import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import type { ClusterKind } from './cluster.ts'
import { workDir } from './svc.ts'

const rowsBuild = join(workDir, 'next')
const redisBuild = join(workDir, 'next-redis')

function isBuilt(dir: string): boolean {
  return existsSync(join(dir, '.next/BUILD_ID'))
}

/** True if `bench/setup.sh` has built the App Router sites for Next.js. */
export const hasNext = isBuilt(rowsBuild) && isBuilt(redisBuild)

/** Starts `next start` on the build of the same pages. */
export function startNext(): Promise<ServerProcess> {
  return start(rowsBuild, {}, 1)
}

/** Instances of `next start` with @fortedigital/nextjs-cache-handler. */
export const nextInstances: ClusterKind = {
  name: 'next start',
  // Connecting, and the questions of this benchmark.
  commands: /^(?!client|hello|info|ping)/,
  start: (_instance, socket) => start(redisBuild, { REDIS_SOCKET: socket }, 2),
  purge: (path) => ({ target: `/api/purge?tag=page-${path.slice(1)}` }),
}

function start(dir: string, env: Readonly<Record<string, string>>, cores: 1 | 2): Promise<ServerProcess> {
  const server = {
    command: process.execPath,
    args: [join(dir, 'node_modules/next/dist/bin/next'), 'start', '--hostname', '127.0.0.1', '--port', '0'],
    cwd: dir,
    env: { ...env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
    ready: (output: string) => (output.includes('Ready in') ? /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] : undefined),
  }
  return startPinned(server, cores)
}
