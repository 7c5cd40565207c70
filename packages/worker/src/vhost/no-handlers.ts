import { WorkerError } from '../errors/errors.ts'
import type { ContentHandlers } from './compiled-location.ts'

/** Answers 502 for content that this server cannot make. */
export const noHandlers: ContentHandlers = {
  make: ({ content }) => ({
    handle(visit) {
      visit.context.reportFailure(new WorkerError('WORKER_NO_CONTENT', `nothing here answers "${content.kind}"`), 502)
      visit.fail(502)
    },
  }),
}
