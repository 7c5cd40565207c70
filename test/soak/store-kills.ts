import { tempDir } from '@svc/testkit'
import { killOwner, killWhileInUse } from '../../packages/cache/test/store/killed-writers.ts'
import { repeat, type SoakPart } from './soak-part.ts'

/** A store lives at most this long, so that a damage that shows late is still near its cause. */
const ROUNDS_PER_STORE = 50

/** Writers of the ISR store are killed at any point of their work: two in each odd round, the owner of the store in each even one. */
export const storeKills: SoakPart = {
  about: 'kill -9 of processes that write to the ISR store; every entry stays whole',
  rounds: 667,
  run(run) {
    let cacheDir = ''
    let kills = 0
    return repeat(run, async (number) => {
      if ((number - 1) % ROUNDS_PER_STORE === 0) cacheDir = tempDir(run.cleanup, 'svc-soak')
      const isInUse = number % 2 === 1
      const kill = isInUse ? killWhileInUse : killOwner
      const entries = await kill(run.cleanup, cacheDir, run.random)
      kills += isInUse ? 2 : 1
      return `${kills} killed, ${entries} entries whole`
    })
  },
}
