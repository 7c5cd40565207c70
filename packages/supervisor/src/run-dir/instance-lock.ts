import { once } from 'node:events'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { codeOf, withDeadline } from '@svc/core'
import { SupervisorError } from '../errors.ts'
import { holdDirectory } from './directory-lock.ts'

const PROBE_TIMEOUT_MS = 2_000
const PRIVATE = 0o600

/** Names of the files that an instance keeps in its run directory. */
export function runFiles(runDir: string) {
  return { pidFile: join(runDir, 'svc.pid'), controlSocket: join(runDir, 'control.sock') }
}

/** The sole right to a run directory. */
export interface InstanceLock {
  /** Gives the right back and removes the pid file. */
  release(): Promise<void>
}

/** Whether something accepts connections at a unix socket. */
async function answers(path: string): Promise<boolean> {
  const socket = connect({ path })
  try {
    await withDeadline(once(socket, 'connect'), PROBE_TIMEOUT_MS, `connecting to ${path}`)
    return true
  } catch (error) {
    // Somebody holds the socket but does not get to accept: that is a master too.
    return codeOf(error) === 'CORE_TIMEOUT' || codeOf(error) === 'EAGAIN'
  } finally {
    socket.destroy()
  }
}

async function alreadyRunning(runDir: string): Promise<SupervisorError> {
  const pid = await readFile(runFiles(runDir).pidFile, 'utf8').catch(() => '')
  const who = pid.trim() === '' ? 'another server' : `another server (pid ${pid.trim()})`
  return new SupervisorError('SUP_ALREADY_RUNNING', `${who} is running with the run directory ${runDir}`)
}

/** Removes the sockets of a master that was killed, and of its render hosts. Those of site units are theirs. */
async function removeLeftovers(runDir: string): Promise<void> {
  const names = await readdir(runDir)
  const left = names.filter((name) => ['control.sock', 'units.sock'].includes(name) || /^host-\d+\.sock$/.test(name))
  await Promise.all(left.map((name) => rm(join(runDir, name), { force: true })))
}

/**
 * Takes the sole right to a run directory and writes the pid file. The right is a socket in the abstract namespace, which the
 * kernel frees however the process ends; a control socket that answers is respected too, since a master in another
 * network namespace may share the directory. What a killed master left behind is removed.
 * @throws SUP_ALREADY_RUNNING
 */
export async function lockInstance(runDir: string, pid: number): Promise<InstanceLock> {
  const { pidFile, controlSocket } = runFiles(runDir)
  const holder = await holdDirectory('run', runDir)
  if (holder === undefined) throw await alreadyRunning(runDir)
  try {
    if (await answers(controlSocket)) throw await alreadyRunning(runDir)
    await removeLeftovers(runDir)
    const temporary = `${pidFile}.${pid}`
    await writeFile(temporary, `${pid}\n`, { mode: PRIVATE })
    await rename(temporary, pidFile)
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
