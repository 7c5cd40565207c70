import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Child, type Cleanup, repositoryRoot, tempDir, writeCertificate } from '@svc/testkit'
import { repeat, type SoakPart } from './soak-part.ts'

const PROGRAM = join(repositoryRoot, 'packages/engine/test/fixtures/tls-churn.ts')
/** Processes at a time: they wait for half of their time. */
const LIVES_PER_ROUND = 3
const NODE_FLAGS = ['--expose-gc', '--disable-warning=ExperimentalWarning']
/** Of a life without longer waits; one in four is longer, so that apps of certificates are used again. */
const SHORT_MS = 600
const LONG_MS = 2_500

/** The last line of a life that ended with a report. */
interface Counts {
  readonly requests: number
  readonly swaps: number
}

function writeCertificates(cleanup: Cleanup): unknown[] {
  const dir = tempDir(cleanup, 'tls-crash')
  return ['one', 'two', 'three'].map((id) => {
    const { cert, key } = writeCertificate(dir, id, { commonName: id, hosts: ['a.test'] })
    return { id, certFile: cert, keyFile: key, title: id }
  })
}

/** Runs one process to its end, which must be its own. */
async function live(cleanup: Cleanup, settings: object): Promise<Counts> {
  const args = [...NODE_FLAGS, PROGRAM, JSON.stringify(settings)]
  // A core file, where the system writes any, is kept with KEEP_TMP=1.
  const child = new Child(cleanup, join(repositoryRoot, 'bin/node'), args, { cwd: tempDir(cleanup, 'tls-crash-life') })
  const exit = await child.exited
  assert.deepEqual(exit, { code: 0, signal: null }, `${JSON.stringify(settings)}: ${child.stderr.slice(-2_000)}`)
  const line = child.stdout.split('\n').find((text) => text.startsWith('{'))
  return line === undefined ? { requests: 0, swaps: 0 } : (JSON.parse(line) as Counts)
}

/** Many short lives of an engine that speaks TLS, with clients of every bad manner, changes of certificates and sudden ends. */
export const tlsCrash: SoakPart = {
  about: 'processes whose certificates change under clients that leave at every moment: none crashes',
  rounds: 700,
  async run(run) {
    const certificates = writeCertificates(run.cleanup)
    const engine = process.env['TEST_ENGINE'] ?? 'uws'
    let requests = 0
    let swaps = 0
    const done = await repeat(run, async () => {
      const lives = Array.from({ length: LIVES_PER_ROUND }, () => {
        const lifeMs = run.random() < 0.25 ? LONG_MS : SHORT_MS
        return live(run.cleanup, { engine, seed: Math.floor(run.random() * 2 ** 31), lifeMs, certificates })
      })
      for (const counts of await Promise.all(lives)) {
        requests += counts.requests
        swaps += counts.swaps
      }
      return `${requests} requests, ${swaps} changes of certificates`
    })
    run.report(`${done * LIVES_PER_ROUND} starts, ${requests} requests, ${swaps} changes of certificates, no crash`)
    return done
  },
}
