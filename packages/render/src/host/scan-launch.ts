import { spawnSync } from 'node:child_process'
import { CHILD_FLAGS } from '@svc/core'

/** Of util-linux; a fixed path, because the programs of a service should not depend on its PATH. */
export const SETPRIV = '/usr/bin/setpriv'
/** The kernel ends the process by this signal when the thread that started it ends: PR_SET_PDEATHSIG of prctl(2). */
const PARENT_DEATH = ['--pdeathsig', 'KILL']
/** Enough for a site at the limits of a scan, and for modules at the limit of their size. */
const NODE_FLAGS = [...CHILD_FLAGS, '--single-threaded-gc', '--max-old-space-size=512']
const TRIAL_TIMEOUT_MS = 2_000

/** Options of `fork` for a scan process, and its arguments. */
export interface ScanLaunch {
  readonly execPath: string
  readonly execArgv: readonly string[]
  readonly args: readonly string[]
}

/**
 * Returns how to start scan processes so that they end with this process, also while they hang in native code. The kernel sees to
 * that if it can be told by `setpriv`, which older versions cannot do; otherwise each process starts a thread that looks for the
 * end of its parent, which takes as much processor time as the rest of the start.
 */
export function scanLaunch(setpriv: string): ScanLaunch {
  // It starts itself: a sandbox may let it run, but not let it start others.
  const { status } = spawnSync(setpriv, [...PARENT_DEATH, setpriv, '--version'], { stdio: 'ignore', timeout: TRIAL_TIMEOUT_MS })
  const args = [String(process.pid)]
  return status === 0
    ? { execPath: setpriv, execArgv: [...PARENT_DEATH, process.execPath, ...NODE_FLAGS], args }
    : { execPath: process.execPath, execArgv: NODE_FLAGS, args: [...args, 'watch'] }
}
