import { messageOf } from '@svc/core'
import type { Check, Subject, Verdict } from '../model/subject.ts'
import { withRedis } from './redis-session.ts'

/** Signatures, certificates, sessions and budgets of several instances bear this difference. */
const MAX_DIFFERENCE_MS = 2_000
const SYNCHRONISE = 'timedatectl set-ntp true (apt-get install systemd-timesyncd or chrony where there is none)'

/** Compares with the clock of Redis. Undefined: none is configured. */
async function compared({ loaded }: Subject): Promise<Verdict | undefined> {
  if (loaded?.config.redis.url === undefined) return undefined
  return await withRedis<Verdict>(
    loaded,
    async (session) => {
      const before = Date.now()
      const [seconds, micros] = (await session.command('TIME', [])) as [Buffer, Buffer]
      const after = Date.now()
      const theirs = Number(seconds) * 1_000 + Number(micros) / 1_000
      const difference = Math.round((before + after) / 2 - theirs)
      const message = `${Math.abs(difference)} ms ${difference < 0 ? 'behind' : 'ahead of'} that of Redis`
      if (Math.abs(difference) <= MAX_DIFFERENCE_MS + (after - before)) return { status: 'ok', message }
      return { status: 'problem', message, remedy: SYNCHRONISE }
    },
    () => ({ status: 'unknown', message: 'no time service answers, and Redis is away' }),
  )
}

/** The clock of the machine is synchronised. */
export const clockCheck: Check = {
  name: 'clock',
  run: async (subject) => {
    const { machine } = subject
    const state = await machine.run('timedatectl', ['show', '--property=NTPSynchronized', '--value'])
    const answer = state?.code === 0 ? state.stdout.trim() : ''
    if (answer === 'yes') return [{ status: 'ok', message: 'synchronised (timedatectl)' }]
    if (answer === 'no') return [{ status: 'warning', message: 'not synchronised (timedatectl)', remedy: SYNCHRONISE }]
    if ((await machine.read('/run/systemd/timesync/synchronized')) !== undefined) {
      return [{ status: 'ok', message: 'synchronised (systemd-timesyncd)' }]
    }
    const verdict = await compared(subject).catch((error): Verdict => ({ status: 'unknown', message: messageOf(error) }))
    const message = 'no time service of this machine answers, and there is no Redis to compare with'
    return [verdict ?? { status: 'unknown', message }]
  },
}
