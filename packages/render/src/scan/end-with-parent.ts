import { Worker } from 'node:worker_threads'

/** Runs in the thread: `ppid` becomes that of another process once the parent has ended. */
const WATCH = `
const parent = Number(require('node:worker_threads').workerData)
const look = () => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }
look()
setInterval(look, 1000)`
const LIMITS = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 }

/**
 * Ends this process by SIGKILL within seconds of its parent's end. A thread looks: the main thread may hang in native code, where it never
 * sees the end of its channel.
 */
export function endWithParent(parentPid: number): void {
  new Worker(WATCH, { eval: true, workerData: parentPid, env: {}, execArgv: [], resourceLimits: LIMITS }).unref()
}
