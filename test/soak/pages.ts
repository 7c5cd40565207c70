import assert from 'node:assert/strict'
import { MemoryWatch } from './memory-watch.ts'
import { PagesUnderLoad } from './pages-under-load.ts'
import { repeat, type SoakPart, type SoakRun } from './soak-part.ts'

const READS_PER_ROUND = 400

/** Something that is done to a server under load. */
type Action = (load: PagesUnderLoad, run: SoakRun) => Promise<void>

const edits: readonly Action[] = [
  (load) => load.purge(),
  (load) => load.purge(),
  (load) => load.edit(),
  (load) => load.swapRoute(),
  (load, { cleanup }) => load.reload(cleanup),
]

/** A part that does one of these things in each round, and looks at the memory after it. */
function pagesPart(about: string, rounds: number, actions: readonly Action[]): SoakPart {
  return {
    about,
    rounds,
    async run(run) {
      const load = await PagesUnderLoad.start(run)
      const memory = new MemoryWatch(load.pid)
      const done = await repeat(run, async () => {
        await actions[Math.floor(run.random() * actions.length)]?.(load, run)
        await load.more(READS_PER_ROUND)
        load.check()
        return `${load.reads} reads, ${memory.take()}`
      })
      await load.stop()
      load.check()
      run.report(memory.summary())
      assert.deepEqual(memory.growth(), [])
      return done
    },
  }
}

/** Edits, purges, reloads and rolling restarts under load. */
export const pages = pagesPart(
  'stored pages under load, edits, purges, reloads and rolling restarts: none stale, none failed, flat memory',
  1_000,
  [...edits, (load) => load.restartRenderers()],
)

/** The same on render hosts that live from the beginning to the end. */
export const pagesSteady = pagesPart('the same without restarts: the memory of render hosts that live long', 1_000, edits)
