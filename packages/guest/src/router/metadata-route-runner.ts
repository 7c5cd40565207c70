import type { MetadataFile } from '@svc/site'
import { robotsText, sitemapXml } from '../metadata/metadata-routes-text.ts'
import type { ModuleExports } from '../page/module-exports.ts'
import type { Params } from '../page/page-input.ts'
import { applyConfig, mergeConfig } from '../page/segment-config.ts'
import { answerThrown } from '../page/thrown-answer.ts'
import { requireModule } from '../registry/registry.ts'
import type { GuestRequest } from '../request/guest-request.ts'
import { purgeBeforeAnswer } from '../scope/pending-purges.ts'
import { readablePromise } from '../scope/readable-promise.ts'
import { openScope, type RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'
import { emitResponse, isResponse } from './emit-response.ts'

const idParam = '__metadata_id__'

/** Runs a metadata file that is code (sitemap, robots, manifest, images): kind `metadata` of a request. */
export async function runMetadata(guest: GuestRequest): Promise<void> {
  const scope = openScope(guest, 'metadata')
  const file = guest.route?.metadata
  if (!file) throw new RouterError('ROUTER_MISUSE', 'The request names no metadata file.')
  if (guest.begin.method !== 'GET' && guest.begin.method !== 'HEAD') {
    guest.answer.complete({ status: 405, headers: [['allow', 'GET, HEAD']] }, '')
    return
  }
  const exports = requireModule(file.file)
  applyConfig(scope, mergeConfig([[file.file, exports]]))
  try {
    await answer(scope, file, exports)
  } catch (error) {
    answerThrown(guest, error, file.file)
  }
}

async function answer(scope: RequestScope, file: MetadataFile, exports: ModuleExports): Promise<void> {
  const { guest } = scope
  const make = exports['default']
  if (typeof make !== 'function')
    throw new RouterError('ROUTER_BAD_EXPORT', `${file.file}: the default export is not a function.`)
  const props = await scope.run(() => propsOf(guest, file, exports))
  if (props === undefined) {
    guest.answer.complete({ status: 404, headers: [] }, '')
    return
  }
  const result: unknown = await scope.run(() => make(props))
  await purgeBeforeAnswer(scope)
  if (isResponse(result)) {
    await scope.run(() => emitResponse(guest, result, { cookies: [], withBody: guest.begin.method === 'GET' }))
    return
  }
  const { type, body } = serialise(file, result)
  guest.answer.complete({ status: 200, headers: [['content-type', type]] }, guest.begin.method === 'HEAD' ? '' : body)
}

/** Parameters and id of the file; undefined: there is no such id. */
async function propsOf(guest: GuestRequest, file: MetadataFile, exports: ModuleExports): Promise<object | undefined> {
  const { [idParam]: rawId, ...own } = guest.begin.params as Params
  const params = readablePromise<Params>(own)
  if (!file.hasIds) return { params }
  const generate = exports[file.type === 'sitemap' ? 'generateSitemaps' : 'generateImageMetadata']
  const list: unknown = typeof generate === 'function' ? await generate({ params }) : []
  const wanted = file.type === 'sitemap' ? String(rawId).replace(/\.xml$/, '') : String(rawId)
  const entry = (Array.isArray(list) ? list : []).find((candidate: { id?: unknown }) => String(candidate.id) === wanted)
  return entry === undefined ? undefined : { params, id: (entry as { id: unknown }).id }
}

function serialise(file: MetadataFile, result: unknown): { type: string; body: string } {
  switch (file.type) {
    case 'sitemap':
      if (!Array.isArray(result)) throw new RouterError('ROUTER_BAD_EXPORT', `${file.file}: a sitemap must be a list of entries.`)
      return { type: 'application/xml', body: sitemapXml(result) }
    case 'robots':
      if (typeof result === 'string') return { type: 'text/plain; charset=utf-8', body: result }
      return { type: 'text/plain; charset=utf-8', body: robotsText(result) }
    case 'manifest':
      return { type: 'application/manifest+json', body: JSON.stringify(result) ?? 'null' }
    default:
      throw new RouterError('ROUTER_BAD_EXPORT', `${file.file}: the function must return a Response with the image.`)
  }
}
