// Fills a store, begins a large purge, and dies as soon as it is counted.
import { writeSync } from 'node:fs'
import { purgeOf } from '../entries.ts'
import { foundIn, openLargeStore } from './large-store.ts'

const store = await openLargeStore(process.argv[2] ?? '')
const { count, followed } = await store.beginPurge(purgeOf(5, { kind: 'tags', tags: ['route:blog:even'] }))
if (followed === undefined) throw new Error('the purge was carried out at once')
writeSync(1, `${count} counted, ${foundIn(store).length} found\n`)
process.kill(process.pid, 'SIGKILL')
