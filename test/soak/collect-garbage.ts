import { once } from 'node:events'
import { waitFor } from '@svc/testkit'
import { WebSocket } from 'ws'

/** Default debugger port of a process that has got SIGUSR1. */
const DEBUGGER = 'http://127.0.0.1:9229/json/list'
const PATIENCE_MS = 60_000
/** Ends the debugger when the connection of this call has gone. */
const END = `void setTimeout(() => process.getBuiltinModule('node:inspector').close(), 100)`

/** One connection of a debugger (the protocol of Chrome DevTools). */
class DebuggerClient {
  readonly #socket: WebSocket
  #calls = 0

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  async call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#calls
    this.#socket.send(JSON.stringify({ id, method, params }))
    for (;;) {
      const [data] = (await once(this.#socket, 'message')) as [Buffer]
      const answer = JSON.parse(data.toString()) as { id?: number; result?: { result?: { value?: unknown } } }
      if (answer.id === id) return answer.result?.result?.value
    }
  }
}

async function connect(): Promise<WebSocket | undefined> {
  try {
    const [target] = (await (await fetch(DEBUGGER)).json()) as { webSocketDebuggerUrl: string }[]
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
    await once(socket, 'open')
    return socket
  } catch {
    return undefined
  }
}

/** Has a process of Node.js collect its garbage: when it would by itself depends on what else the machine does. One process at a time. */
export async function collectGarbage(pid: number): Promise<void> {
  process.kill(pid, 'SIGUSR1')
  await waitFor(
    `the debugger of ${pid}`,
    async () => {
      const socket = await connect()
      if (socket === undefined) return false
      const client = new DebuggerClient(socket)
      const isOurs = (await client.call('Runtime.evaluate', { expression: 'process.pid' })) === pid
      if (isOurs) {
        await client.call('HeapProfiler.collectGarbage')
        await client.call('Runtime.evaluate', { expression: END })
      }
      socket.terminate()
      return isOurs
    },
    PATIENCE_MS,
  )
  await waitFor(
    `the end of the debugger of ${pid}`,
    () =>
      fetch(DEBUGGER).then(
        () => false,
        () => true,
      ),
    PATIENCE_MS,
  )
}
