import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Codes of errors raised by a worker outside of its engine and its files. */
export type WorkerErrorCode =
  /** A generation was asked for that was not prepared here. */
  | 'WORKER_NOT_PREPARED'
  /** A site changed again and again while a request was being matched with it. */
  | 'WORKER_SITE_UNSETTLED'
  /** No render host for the site turned up in time, or none will. */
  | 'WORKER_NO_HOST'
  /** More requests wait for a render host, or for the routes of a site, than `render.queue_max`. */
  | 'WORKER_QUEUE_FULL'
  /** The client of a render left, and for those who waited with it the render took too long. */
  | 'WORKER_RENDER_ABANDONED'
  /** The render that a request waited for took longer than a render may take. */
  | 'WORKER_WAIT_TIMEOUT'
  /** The parameters of a route that are known in advance could not be found out. */
  | 'WORKER_STATIC_PARAMS'
  /** The thread that checks passwords ended before it had an answer. */
  | 'WORKER_PASSWORD_THREAD'
  /** The file of `auth_basic_user_file` is no regular file, or too large. */
  | 'WORKER_PASSWORD_FILE'
  /** A location has content that this server cannot make. */
  | 'WORKER_NO_CONTENT'

const table = {
  WORKER_NOT_PREPARED: {},
  WORKER_SITE_UNSETTLED: { status: 503, retryable: true },
  WORKER_NO_HOST: { status: 503, retryable: true },
  WORKER_QUEUE_FULL: { status: 503, retryable: true },
  WORKER_RENDER_ABANDONED: { status: 504, retryable: true },
  WORKER_WAIT_TIMEOUT: { status: 504, retryable: true },
  WORKER_STATIC_PARAMS: {},
  WORKER_PASSWORD_THREAD: { status: 500, retryable: true },
  WORKER_PASSWORD_FILE: {},
  WORKER_NO_CONTENT: { status: 502 },
} satisfies ErrorTable<WorkerErrorCode>

/** An error of a worker. */
export class WorkerError extends AppError<WorkerErrorCode> {
  constructor(code: WorkerErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'WorkerError'
  }
}
