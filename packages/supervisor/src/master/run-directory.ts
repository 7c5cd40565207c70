import { lutimes, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, codeOf, replaceFile } from '@svc/core'
import { holdDirectory, isServed, SupervisorError } from '@svc/processes'

/** Paths of an instance's files in its run directory. */
export function runFiles(runDir: string) {
  return { pidFile: join(runDir, 'svc.pid'), controlSocket: join(runDir, 'control.sock') }
}

/** The lock of a run directory. */
interface InstanceLock {
  /** Releases the lock and deletes the pid file. */
  release(): Promise<void>
}

async function alreadyRunning(runDir: string): Promise<SupervisorError> {
  const pid = await readFile(runFiles(runDir).pidFile, 'utf8').catch(() => '')
  const who = pid.trim() === '' ? 'another server' : `another server (pid ${pid.trim()})`
  return new SupervisorError('SUP_ALREADY_RUNNING', { server: who, runDir })
}

/** Files of a killed master and its render hosts. Files of site units do not match. */
const LEFTOVER = /^(?:(?:control|units|host-\d+)\.sock|svc\.pid\..+)$/

async function removeLeftovers(runDir: string): Promise<void> {
  const left = (await readdir(runDir)).filter((name) => LEFTOVER.test(name))
  await Promise.all(left.map((name) => rm(join(runDir, name), { force: true })))
}

/**
 * Locks a run directory and writes the pid file. A responding control socket counts as a lock too: a clean-up of the directory may
 * have deleted the lock and left the socket. Deletes the files of a killed master.
 * @throws SUP_ALREADY_RUNNING
 */
export async function lockInstance(runDir: string, pid: number): Promise<InstanceLock> {
  const { pidFile, controlSocket } = runFiles(runDir)
  const holder = await holdDirectory('run', runDir)
  if (holder === undefined) throw await alreadyRunning(runDir)
  try {
    if (await isServed(controlSocket)) throw await alreadyRunning(runDir)
    await removeLeftovers(runDir)
    await replaceFile(pidFile, `${pid}\n`)
  } catch (error) {
    holder.close()
    throw error
  }
  return {
    async release() {
      await rm(pidFile, { force: true })
      holder.close()
    },
  }
}

/** Programs that clean /tmp delete files that were not touched for days, usually ten. */
const EVERY_MS = 12 * 3_600_000

/**
 * Touches the files of a run directory twice a day, so that programs that clean /tmp keep them. Those keep sockets with a listener
 * anyway. Returns a function that stops this.
 */
export function keepFresh(runDir: string, clock: Clock, onProblem: (error: unknown) => void): () => void {
  const touchLater = (): (() => void) =>
    clock.after(EVERY_MS, () => {
      touchAll(runDir, clock).catch(onProblem)
      cancel = touchLater()
    })
  let cancel = touchLater()
  return () => cancel()
}

async function touchAll(dir: string, clock: Clock): Promise<void> {
  const seconds = clock.now() / 1_000
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter((one) => one.isFile())) {
    await lutimes(join(entry.parentPath, entry.name), seconds, seconds).catch(ignoreMissing)
  }
}

/** A file may have been removed since the directory was read. */
function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error
}
