import { errorClass } from '@svc/core'

/** An error of a worker. */
export const WorkerError = errorClass('WorkerError', {
  /** A generation was requested that was not prepared here. */
  WORKER_NOT_PREPARED: {},
  /** A site kept changing while a request was being matched with it. */
  WORKER_SITE_UNSETTLED: { status: 503, retryable: true },
  /** No render host for the site became available in time, or none will. */
  WORKER_NO_HOST: { status: 503, retryable: true },
  /** More requests wait for a render host, or for the routes of a site, than `render.queue_max`. */
  WORKER_QUEUE_FULL: { status: 503, retryable: true },
  /** The client of a render disconnected, and the render took too long for the requests that waited with it. */
  WORKER_RENDER_ABANDONED: { status: 504, retryable: true },
  /** The render that a request waited for exceeded the limit of a render. */
  WORKER_WAIT_TIMEOUT: { status: 504, retryable: true },
  /** `generateStaticParams` of a route failed. */
  WORKER_STATIC_PARAMS: {},
  /** The thread that checks passwords ended before it had a result. */
  WORKER_PASSWORD_THREAD: { status: 500, retryable: true },
  /** An upload is empty, or no .tar.gz. */
  UPLOAD_INVALID: { status: 422, exposable: true },
  /** The disk, or the quota of the user, has no room for an upload. */
  UPLOAD_NO_SPACE: {
    status: 507,
    retryable: true,
    exposable: true,
    template: 'server.state_dir has no room for the upload ({code})',
  },
  /** A plugin cannot be loaded, or is none. */
  WORKER_PLUGIN: {},
  /** The path of `auth_request` was answered with a status that neither passes nor refuses a request. */
  WORKER_AUTH_REQUEST: {},
  /** The file of `auth_basic_user_file` is not a regular file, or too large. */
  WORKER_PASSWORD_FILE: {},
})
export type WorkerError = InstanceType<typeof WorkerError>

/** An error of serving files. */
export const StaticError = errorClass('StaticError', {
  /** A file exists but may not be read by this process. */
  STATIC_UNREADABLE: { status: 404 },
  /** A file was changed or cut while it was being sent. */
  STATIC_FILE_CHANGED: { status: 503, retryable: true },
  /** Examining, opening or reading a file failed for another reason. */
  STATIC_READ_FAILED: { status: 500 },
})
export type StaticError = InstanceType<typeof StaticError>
