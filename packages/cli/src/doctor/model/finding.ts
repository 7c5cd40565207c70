/** Verdict on one part of the machine, from good to bad; `unknown`: the check could not run. */
export type Status = 'ok' | 'unknown' | 'warning' | 'problem'

/** One line of the examination. */
export interface Finding {
  /** The part that was checked. */
  readonly check: string
  readonly status: Status
  readonly message: string
  /** A command, or an edit and a command, that mends it. */
  readonly remedy?: string
}
