import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { workDir } from './svc.ts'

const dir = join(workDir, 'next')

/** True if `bench/setup.sh` has built the App Router site for Next.js. */
export const hasNext = existsSync(join(dir, '.next/BUILD_ID'))

/** Starts `next start` on the build of the same pages. */
export function startNext(): Promise<ServerProcess> {
  return startPinned({
    command: process.execPath,
    args: [join(dir, 'node_modules/next/dist/bin/next'), 'start', '--hostname', '127.0.0.1', '--port', '0'],
    cwd: dir,
    env: { NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
    ready: (output) => (output.includes('Ready in') ? /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] : undefined),
  })
}
