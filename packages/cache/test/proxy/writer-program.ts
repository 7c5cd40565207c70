// Writes answers to a proxy store as fast as it can until it is killed, and says how far it is.
//
//   writer-program.ts <cache directory> <name>
import { systemClock } from '@svc/core'
import { ProxyStore } from '../../src/index.ts'
import { sealedBody } from '../entries.ts'
import { put } from './proxy-fixture.ts'

const [cacheDir = '', name = ''] = process.argv.slice(2)
const onProblem = (error: Error) => process.stderr.write(`${error.message}\n`)
const store = await ProxyStore.join({ cacheDir, maxBytes: 8 << 20, clock: systemClock, onProblem })
if (store.entries.problem !== undefined) throw new Error(store.entries.problem)

for (let batch = 1; ; batch++) {
  const numbers = Array.from({ length: 8 }, (_, index) => (batch * 31 + index * 17) % 100)
  await Promise.all(
    numbers.map((number) => put(store, `/${number}`, sealedBody(`k${number}`, number % 3 === 0 ? 90_000 + number : number * 50))),
  )
  process.stdout.write(`${name} batch ${batch}\n`)
}
