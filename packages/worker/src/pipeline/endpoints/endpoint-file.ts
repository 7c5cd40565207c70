import type { EndpointFile } from '@svc/admin'
import { type EntityTag, evaluateConditions, type HeaderList, negotiateEncoding } from '@svc/http'
import type { RequestContext, StageResult } from '../../request/request-context.ts'

/** Its name changes with its content, so a client needs to ask once. */
const FOR_EVER = 'public, max-age=31536000, immutable'

/** Sends a file in the coding that the client likes best, or 304 to one that has it. */
export async function sendEndpointFile(context: RequestContext, { file }: EndpointFile): Promise<StageResult> {
  const coding = negotiateEncoding(context.request.header('accept-encoding'), file.codings)
  const etag: EntityTag = `"${file.name}-${coding}"`
  const shared: HeaderList = [
    ['etag', etag],
    ['cache-control', FOR_EVER],
    ['vary', 'accept-encoding'],
  ]
  const outcome = evaluateConditions(context.request, { etag, lastModifiedMs: undefined })
  if (outcome !== 'proceed') {
    context.respond({ status: outcome === 'not-modified' ? 304 : 412, headers: shared })
    return 'answered'
  }
  const headers: HeaderList = [
    ['content-type', file.contentType],
    ['x-content-type-options', 'nosniff'],
    ...(coding === 'identity' ? [] : [['content-encoding', coding] as const]),
    ...shared,
  ]
  context.respond({ status: 200, headers }, await file.read(coding))
  return 'answered'
}
