import { ManualClock } from '@svc/testkit'
import {
  type FillEnd,
  type FillOptions,
  type FillPolicy,
  Fills,
  type LateWaiter,
  type LeaseDesk,
  type LeaseOutcome,
  type LeaseReply,
  type Purge,
  type Purgeable,
  PurgeLedger,
  type SharedFill,
} from '../src/index.ts'

export const KEY = 'site\0/a'
export const entry: Purgeable = { label: 'site', host: '', path: '/a', tags: [] }
export const purgeOf = (number: number): Purge => ({
  number,
  layers: ['isr'],
  scopes: [{ kind: 'labels', labels: ['site'] }],
  mode: 'drop',
})

/** A request of a test. */
export class Client {
  readonly name: string
  /** Number of the last purge when it came. */
  readonly seq: number
  got: string | undefined
  /** Why it was dismissed, in order. */
  readonly reasons: (FillEnd | LateWaiter)[] = []

  constructor(name: string, seq = 0) {
    this.name = name
    this.seq = seq
  }

  get kinds(): string {
    return this.reasons.map(({ kind }) => kind).join(' ')
  }
}

/** A policy whose producer the test plays. */
export class ScriptedPolicy implements FillPolicy<Client> {
  readonly produced: (Client | undefined)[] = []
  readonly ends: FillEnd[] = []
  readyAnswer: 'fill' | 'stored' | 'lost' = 'fill'
  value: string | undefined
  fill: SharedFill<Client> | undefined
  refuse: 'wait' | 'again' = 'wait'
  isBroken = false

  ready(): 'fill' | 'stored' | 'lost' {
    return this.readyAnswer
  }

  produce(leader: Client | undefined): void {
    if (this.isBroken) throw new Error('broken producer')
    this.produced.push(leader)
  }

  give(client: Client): 'given' | 'wait' | 'again' {
    if (client.seq > (this.fill?.seq ?? 0)) return this.refuse
    client.got = this.value
    return 'given'
  }

  settled(end: FillEnd): void {
    this.ends.push(end)
  }

  dismiss(client: Client, reason: FillEnd | LateWaiter): void {
    client.reasons.push(reason)
  }
}

/** A desk that answers when the test says so. */
export class ScriptedDesk implements LeaseDesk {
  readonly keys: string[] = []
  readonly asked: PromiseWithResolvers<LeaseReply>[] = []
  readonly ended: (readonly [id: number, outcome: LeaseOutcome])[] = []

  lease(key: string): Promise<LeaseReply> {
    this.keys.push(key)
    const reply = Promise.withResolvers<LeaseReply>()
    this.asked.push(reply)
    return reply.promise
  }

  leaseEnded(id: number, outcome: LeaseOutcome): void {
    this.ended.push([id, outcome])
  }

  async isHeld(): Promise<boolean> {
    return false
  }

  /** Answers the last request. */
  async answer(reply: Partial<LeaseReply>, index = this.asked.length - 1): Promise<void> {
    this.asked[index]?.resolve({ granted: false, id: 0, ...reply })
    await settle()
  }
}

/** Lets promises and immediates of this process settle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export const LEASE = { key: KEY, waitMs: 1_000 }

/** A table of fills whose clock, desk, producers and clients are those of a test. */
export function bench() {
  const clock = new ManualClock()
  const ledger = new PurgeLedger()
  const desk = new ScriptedDesk()
  const problems: Error[] = []
  const fills = new Fills<Client, ScriptedPolicy>({ ledger, leases: desk, clock, onProblem: (error) => problems.push(error) })
  const open = ({ key = KEY, ...options }: FillOptions & { isPrivate?: boolean; key?: string } = {}, ...clients: Client[]) => {
    const policy = new ScriptedPolicy()
    const fill = fills.open(key, policy, options)
    policy.fill = fill
    for (const client of clients) fill.join(client)
    fill.start()
    return { policy, fill }
  }
  return { clock, ledger, desk, fills, problems, open }
}
