import assert from 'node:assert/strict'
import { MemoryWatch, megabytes, type Settled } from './memory-watch.ts'
import { repeat, type SoakPart } from './soak-part.ts'
import { TlsVhosts } from './tls-vhosts.ts'

const REQUESTS_PER_ROUND = 10_000
/** Enough that no reload goes without. */
const FEW_REQUESTS = 100
/** Rounds in which the heaps find their size. */
const WARM_UP_ROUNDS = 20
/** For each reload. */
const GROWTH_KILOBYTES = 100

/** Reloads with a thousand vhosts and two hundred certificates under load over TLS; all vhosts and a certificate change in each. */
export const tlsReload: SoakPart = {
  about: 'a thousand vhosts and two hundred certificates, reloaded under load over TLS: no request fails',
  rounds: 10,
  async run(run) {
    const vhosts = await TlsVhosts.start(run.cleanup)
    const memory = new MemoryWatch(vhosts.pid)
    let slowestMs = 0
    const done = await repeat(run, async (round) => {
      await vhosts.more(REQUESTS_PER_ROUND)
      vhosts.renew(round)
      vhosts.rewrite(round)
      const { said, tookMs } = await vhosts.reload()
      await vhosts.useHeld(round)
      slowestMs = Math.max(slowestMs, tookMs)
      return `${said}, ${memory.take()}`
    })
    run.report(`${await vhosts.rest()} requests, 0 failed; slowest reload ${Math.round(slowestMs)} ms`)
    return done
  },
}

/**
 * A part that does the same before each of many reloads, and fails when a process grows by more than a little for each: from the
 * end of the warm-up to the end, at rest both times.
 */
function memoryPart(about: string, change: (vhosts: TlsVhosts, round: number) => void): SoakPart {
  return {
    about,
    rounds: 200,
    async run(run) {
      const vhosts = await TlsVhosts.start(run.cleanup)
      const memory = new MemoryWatch(vhosts.pid)
      let early: Settled | undefined
      const done = await repeat(run, async (round) => {
        await vhosts.more(FEW_REQUESTS)
        change(vhosts, round)
        const { said } = await vhosts.reload()
        await vhosts.useHeld(round)
        if (round === WARM_UP_ROUNDS) {
          await vhosts.rest()
          early = await memory.settled()
          vhosts.load()
        }
        return `${said}, ${memory.take()}`
      })
      run.report(`${await vhosts.rest()} requests, 0 failed`)
      assert.ok(early !== undefined && done > WARM_UP_ROUNDS, 'there were too few rounds to judge memory')
      const late = await memory.settled()
      assert.deepEqual(late.workers, early.workers, 'no worker was replaced')
      for (const role of ['master', 'worker'] as const) {
        const [before, after] = [early.roles[role], late.roles[role]]
        const kilobytes = (after - before) / 1024 / (done - WARM_UP_ROUNDS)
        run.report(`${role}: ${megabytes(before)} -> ${megabytes(after)} MB, ${Math.round(kilobytes)} KB for each reload`)
        assert.ok(kilobytes <= GROWTH_KILOBYTES, `the ${role} grows by ${kilobytes} KB for each reload`)
      }
      return done
    },
  }
}

/** Reloads that each find one certificate changed. */
export const tlsRenewals = memoryPart(
  'the memory of reloads that each find one certificate of two hundred changed',
  (vhosts, round) => vhosts.renew(round),
)

/** Reloads that each find a thousand vhosts changed, and no certificate. */
export const vhostReloads = memoryPart('the memory of reloads that each find a thousand vhosts changed', (vhosts, round) =>
  vhosts.rewrite(round),
)
