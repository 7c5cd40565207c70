import { type CompleteResponse, type HeaderList, statusText } from '@svc/http'

/** Statuses whose responses have a page in nginx. */
const WITH_PAGE: ReadonlySet<number> = new Set([
  ...[301, 302, 303, 307, 308],
  ...[400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 414, 415, 416, 421, 429],
  ...[500, 501, 502, 503, 504, 505, 507],
])

const TYPE: HeaderList = [['content-type', 'text/html']]

const pages = new Map<string, Buffer>()

/**
 * The short HTML page of a status, as servers of vhost files send it; other statuses have no body.
 * @param detail a fixed text
 */
export function plainPage(status: number, headers: HeaderList, detail = ''): CompleteResponse {
  if (!WITH_PAGE.has(status)) return { head: { status, headers }, body: Buffer.alloc(0) }
  const key = `${status}${detail}`
  const body = pages.get(key) ?? Buffer.from(pageOf(`${status} ${statusText(status)}`, detail))
  pages.set(key, body)
  return { head: { status, headers: [...TYPE, ...headers] }, body }
}

function pageOf(title: string, detail: string): string {
  const more = detail === '' ? '' : `<p>${detail}</p>\n`
  return `<html>\n<head><title>${title}</title></head>\n<body>\n<h1>${title}</h1>\n${more}</body>\n</html>\n`
}
