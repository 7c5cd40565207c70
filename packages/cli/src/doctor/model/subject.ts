import type { ConfigProblem, LoadedConfig } from '@svc/config'
import type { StatusReport } from '@svc/protocol'
import type { Finding } from './finding.ts'
import type { Machine } from './machine.ts'

/** The user that the server runs as, or would. */
export interface ServerUser {
  readonly uid: number
  readonly name: string
  /** Where that is known from. */
  readonly source: 'the running server' | 'the run directory' | 'the unit svc.service' | 'the user of this command'
}

/** The running server, as far as it can be asked. */
export type ServerState =
  | { readonly kind: 'running'; readonly status: StatusReport }
  | { readonly kind: 'absent'; readonly message: string }
  | { readonly kind: 'silent'; readonly message: string }
  /** This user may not ask it. `owner`: user id of its run directory. */
  | { readonly kind: 'forbidden'; readonly message: string; readonly owner: number | undefined }

/** State of a systemd unit: the properties that `systemctl show` prints. Undefined: there is no systemd to ask. */
export type AskUnit = (name: string) => Promise<Readonly<Record<string, string>> | undefined>

/** A unit that `svc systemd` prints. */
export interface PrintedUnit {
  readonly site?: string
  /** The socket unit of the server. */
  readonly isSocket?: boolean
  readonly user: string
  readonly installation: string
}

/** Everything that the checks look at. */
export interface Subject {
  readonly machine: Machine
  /** Undefined: the configuration has problems, or could not be read. */
  readonly loaded: LoadedConfig | undefined
  /** Why it could not be read in time. */
  readonly unread: string | undefined
  readonly problems: readonly ConfigProblem[]
  /** Options that name the same configuration to another command: "" or " --config F". */
  readonly options: string
  /** This program as a shell finds it. */
  readonly command: string
  /** Directory that the product is installed in. */
  readonly installation: string
  readonly user: ServerUser
  readonly server: ServerState
  readonly askUnit: AskUnit
  /** The text that `svc systemd` prints. Rejects if there can be no unit for this configuration. */
  readonly unitText: (unit: PrintedUnit) => Promise<string>
}

/** A finding of a check. */
export type Verdict = Omit<Finding, 'check'>

/** One part of the examination. Its name is that of its findings. */
export interface Check {
  readonly name: string
  /** Rejects if it cannot be done. */
  readonly run: (subject: Subject) => Promise<readonly Verdict[]>
}
