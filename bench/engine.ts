// Measures what the engine costs over bare uWebSockets.js with the same response: requests per CPU second of both, in turn.
//
//   bin/node bench/engine.ts            body of 1024 bytes, 5 rounds of 2 seconds
//   BYTES=32768 SECONDS=3 bin/node bench/engine.ts
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { measure } from './lib/load.ts'
import { startPinned } from './lib/server-process.ts'

const ROUNDS = 5
const seconds = Number(process.env['SECONDS'] ?? 2)
const bytes = process.env['BYTES'] ?? '1024'
const here = fileURLToPath(new URL('.', import.meta.url))

async function perCpuSecond(server: string): Promise<number> {
  const running = await startPinned({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join(here, 'servers', server), bytes],
    ready: (output) => /http:\/\/[\d.:]+/.exec(output)?.[0],
  })
  try {
    const result = await measure({ url: running.url, serverPid: running.pid, seconds, connections: 32 })
    if (result.errors > 0) throw new Error(`${server}: ${result.errors} errors`)
    return result.requestsPerCpuSecond
  } finally {
    await running.stop()
  }
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const bare: number[] = []
const engine: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  const pair = [await perCpuSecond('uws-hello.ts'), await perCpuSecond('engine.ts')] as const
  // On a busy machine the load tool sometimes reports no result: such a round is dropped.
  if (Math.min(...pair) === 0) continue
  bare.push(pair[0])
  engine.push(pair[1])
}
const ratios = engine.map((value, round) => value / (bare[round] ?? value))
console.log(`body of ${bytes} bytes, requests per CPU second of the server, median of ${ratios.length} rounds`)
console.log(`bare uWebSockets.js  ${Math.round(median(bare))}`)
console.log(`engine               ${Math.round(median(engine))}`)
console.log(`ratio                ${median(ratios).toFixed(3)}  (${ratios.map((ratio) => ratio.toFixed(2)).join(' ')})`)
