import { MessageChannel, parentPort, workerData } from 'node:worker_threads'
import { keepCompiledCode } from '@svc/core'
import type { RenderTask, ThreadBase } from '../contract/thread-messages.ts'
import { WaitingThread } from './site-thread.ts'

const { port1, port2 } = new MessageChannel()
const thread = new WaitingThread(workerData as ThreadBase, port1)
// When this module has been loaded whole: from then on the host may end the thread.
setImmediate(() => parentPort?.postMessage({ link: port2 }, [port2]))

let isCodeKept = false

/** The host ends its threads, or dies with them. */
function keepCodeOnce(): void {
  if (isCodeKept) return
  isCodeKept = true
  setImmediate(keepCompiledCode)
}

/** The task of the pool: some requests. It ends when all of them have their results, which go over the link. */
export default async function render(tasks: readonly RenderTask[]): Promise<void> {
  await thread.run(tasks)
  keepCodeOnce()
}
