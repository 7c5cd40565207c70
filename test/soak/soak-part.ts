import type { Cleanup } from '@svc/testkit'

/** Options of a run of a soak part. */
export interface SoakRun {
  /** How many rounds are to be done. */
  readonly rounds: number
  /** Wall-clock milliseconds after which no new round begins. */
  readonly endsAt: number
  /** Numbers from 0 to 1 that a seed decides, so that a run can be repeated. */
  readonly random: () => number
  /** Clean-up after the part. */
  readonly cleanup: Cleanup
  /** Says how far it is. */
  readonly report: (text: string) => void
}

/** Something that is done many more times than `npm test` has time for. Rejects when a promise of the product is broken. */
export interface SoakPart {
  /** One line for the list of parts. */
  readonly about: string
  /** @default rounds of a whole run */
  readonly rounds: number
  /** Resolves with how many rounds were done. */
  run(run: SoakRun): Promise<number>
}

/** Repeats a round until all are done or the time has passed. Resolves with how many were done. */
export async function repeat(run: SoakRun, round: (number: number) => Promise<string>): Promise<number> {
  for (let number = 1; number <= run.rounds; number++) {
    if (Date.now() >= run.endsAt) return number - 1
    run.report(`${number}/${run.rounds} ${await round(number)}`)
  }
  return run.rounds
}
