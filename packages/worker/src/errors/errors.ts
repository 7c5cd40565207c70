import { errorClass } from '@svc/core'

/** An error of a worker. */
export const WorkerError = errorClass('WorkerError', {
  /** A generation was asked for that was not prepared here. */
  WORKER_NOT_PREPARED: {},
  /** A site changed again and again while a request was being matched with it. */
  WORKER_SITE_UNSETTLED: { status: 503, retryable: true },
  /** No render host for the site turned up in time, or none will. */
  WORKER_NO_HOST: { status: 503, retryable: true },
  /** More requests wait for a render host, or for the routes of a site, than `render.queue_max`. */
  WORKER_QUEUE_FULL: { status: 503, retryable: true },
  /** The client of a render left, and for those who waited with it the render took too long. */
  WORKER_RENDER_ABANDONED: { status: 504, retryable: true },
  /** The render that a request waited for took longer than a render may take. */
  WORKER_WAIT_TIMEOUT: { status: 504, retryable: true },
  /** The parameters of a route that are known in advance could not be found out. */
  WORKER_STATIC_PARAMS: {},
  /** The thread that checks passwords ended before it had an answer. */
  WORKER_PASSWORD_THREAD: { status: 500, retryable: true },
  /** The file of `auth_basic_user_file` is no regular file, or too large. */
  WORKER_PASSWORD_FILE: {},
  /** A location has content that this server cannot make. */
  WORKER_NO_CONTENT: { status: 502 },
})
export type WorkerError = InstanceType<typeof WorkerError>
