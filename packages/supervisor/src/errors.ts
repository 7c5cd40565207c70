import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Codes of errors raised by `supervisor`. */
export type SupervisorErrorCode =
  /** Another master uses the same run directory. */
  | 'SUP_ALREADY_RUNNING'
  /** Another master uses the same state or cache directory. */
  | 'SUP_DIRECTORY_TAKEN'
  /** A listen address is taken, not ours to open, or not an address. */
  | 'SUP_LISTEN'
  /** A listen address speaks TLS, and there is no certificate for it. */
  | 'SUP_NO_CERTIFICATE'
  /** An authority issued no certificate. */
  | 'SUP_CERTIFICATE'
  /** An authority cannot be reached, or is not trusted. */
  | 'SUP_AUTHORITY'
  /** A directory of the configuration cannot be made or used. */
  | 'SUP_DIRECTORY'
  /** A program ended again and again before it was ready for the first time. */
  | 'SUP_START_FAILED'
  /** The start was given up because a stop was asked for. */
  | 'SUP_STOPPED'
  /** A process did not get ready, or could not build a generation. */
  | 'SUP_NOT_READY'
  /** The site is not in the configuration. */
  | 'SUP_UNKNOWN_SITE'
  /** A purge names a path or a host that cannot be one. */
  | 'SUP_BAD_PURGE'
  /** The file that a site unit is started from is not there, not whole, or others may read it. */
  | 'SUP_SITE_FILE'
  /** Another unit of the site runs. */
  | 'SUP_UNIT_RUNNING'
  /** A site unit has not proved that it is the one of its site, or asks for what is not its business. */
  | 'SUP_UNIT_REFUSED'
  /** The unit of a site is not connected to its server at the moment. */
  | 'SUP_NO_SERVER'
  /** The entries are served no more, but the store still holds them. */
  | 'SUP_PURGE_FAILED'

const table = {
  SUP_ALREADY_RUNNING: {},
  SUP_DIRECTORY_TAKEN: {},
  SUP_LISTEN: {},
  SUP_NO_CERTIFICATE: {},
  SUP_CERTIFICATE: { retryable: true },
  SUP_AUTHORITY: { retryable: true },
  SUP_DIRECTORY: {},
  SUP_START_FAILED: { retryable: true },
  SUP_STOPPED: {},
  SUP_NOT_READY: { retryable: true },
  SUP_UNKNOWN_SITE: { status: 404, exposable: true },
  SUP_BAD_PURGE: { status: 400, exposable: true },
  SUP_SITE_FILE: {},
  SUP_UNIT_RUNNING: {},
  SUP_UNIT_REFUSED: {},
  SUP_NO_SERVER: { retryable: true },
  SUP_PURGE_FAILED: { status: 500, retryable: true },
} satisfies ErrorTable<SupervisorErrorCode>

/** An error of the `supervisor` package. */
export class SupervisorError extends AppError<SupervisorErrorCode> {
  constructor(code: SupervisorErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'SupervisorError'
  }
}
