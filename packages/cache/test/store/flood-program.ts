// Puts entries of one label into a store until it is killed, and says how many.
//
//   flood-program.ts <cache directory> <label>
import { EntryStore } from '../../src/index.ts'
import { factsOf, sealedBody } from '../entries.ts'
import { roomy } from './store-fixture.ts'

const [cacheDir = '', label = ''] = process.argv.slice(2)
const PER_BATCH = 20

const store = await EntryStore.join(roomy(cacheDir, { maxEntries: 200, maxBytes: 24 << 20 }))
if (store.problem !== undefined) throw new Error(store.problem)

for (let batch = 0; ; batch++) {
  const numbers = Array.from({ length: PER_BATCH }, (_, index) => batch * PER_BATCH + index)
  await Promise.all(
    numbers.map((number) => {
      const facts = factsOf({ label, path: `/${number}`, createdAt: Date.now(), isNewcomer: number % 3 === 0 })
      return store.put(`${label} ${number}`, facts, sealedBody(label, number % 2_000))
    }),
  )
  process.stdout.write(`${label} ${(batch + 1) * PER_BATCH}\n`)
}
