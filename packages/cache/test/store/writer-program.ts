// Writes to a store as fast as it can until it is killed, and says how far it is.
//
//   writer-program.ts <cache directory> <open|join> <name>
import { EntryStore, type PurgeScope } from '../../src/index.ts'
import { factsOf, purgeOf, sealedBody } from '../entries.ts'
import { roomy } from './store-fixture.ts'

const [cacheDir = '', how, name = ''] = process.argv.slice(2)
const KEYS = 300
const PER_BATCH = 12

const options = roomy(cacheDir, { maxEntries: 200, maxBytes: 24 << 20 })
const store = how === 'open' ? await EntryStore.open(options) : await EntryStore.join(options)
if (store.problem !== undefined || store.damage !== undefined) throw new Error(store.problem ?? store.damage)

async function putSome(batch: number): Promise<void> {
  const puts = Array.from({ length: PER_BATCH }, (_, index) => {
    const number = (batch * 31 + index * 17) % KEYS
    const facts = factsOf({
      label: number % 4 === 0 ? 'shop' : 'blog',
      isNewcomer: number % 3 === 0,
      path: `/${number}`,
      createdAt: Date.now(),
      isQueryKeyed: number % 5 === 0,
      siteTags: [`t${number % 7}`],
    })
    return store.put(`k${number}`, facts, sealedBody(`k${number}`, ((batch * 7_919 + index * 104_729) % 40) * 1_000))
  })
  await Promise.all(puts)
}

for (let batch = 1; ; batch++) {
  await putSome(batch)
  const scope: PurgeScope = { kind: 'tags', tags: [`route:blog:t${batch % 7}`] }
  if (batch % 5 === 0) await store.purge(purgeOf(1, scope, { mode: batch % 2 === 0 ? 'drop' : 'stale' }))
  if (batch % 8 === 0) await store.room.evict()
  if (batch % 11 === 0) await store.noteReads('blog', `/${batch % KEYS}`, { query: true, host: false }, 0)
  store.get(`k${batch % KEYS}`)
  process.stdout.write(`${name} batch ${batch}\n`)
}
