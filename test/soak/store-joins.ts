import { tempDir } from '@svc/testkit'
import { joinWhileWritten } from '../../packages/cache/test/store/killed-writers.ts'
import { repeat, type SoakPart } from './soak-part.ts'

const JOINS_PER_ROUND = 200

/** Processes open and leave the ISR store while another writes to it at full speed. */
export const storeJoins: SoakPart = {
  about: 'opening the ISR store while another process writes to it; nothing is lost or given out twice',
  rounds: 50,
  run(run) {
    let joins = 0
    return repeat(run, async () => {
      const entries = await joinWhileWritten(run.cleanup, tempDir(run.cleanup, 'svc-soak'), JOINS_PER_ROUND)
      joins += JOINS_PER_ROUND
      return `${joins} joined, ${entries} entries whole`
    })
  },
}
