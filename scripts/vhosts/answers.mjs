// Answers of two servers to one request, and their differences.
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { gunzipSync } from 'node:zlib'

/** @typedef {{ status: number, headers: readonly (readonly [string, string])[], body: string }} Answer */
/** @typedef {import('./derived-requests.mjs').DerivedRequest} DerivedRequest */

const TIMEOUT_MS = 20_000

/** Fields that no two servers have alike, and those that are compared in another way. */
const NOT_COMPARED = new Set([
  ...[
    'date',
    'server',
    'connection',
    'keep-alive',
    'content-length',
    'transfer-encoding',
    'cache-status',
    'etag',
    'x-request-id',
  ],
  ...['expires', 'alt-svc', 'last-modified', 'accept-ranges', 'vary', 'content-type'],
])

/** @param {DerivedRequest & { at: { host: string, port: number } }} asked @returns {Promise<Answer>} */
export function answerTo({ at, isTls, host, method, target, headers, body }) {
  const { promise, resolve } = Promise.withResolvers()
  const send = isTls ? httpsRequest : httpRequest
  const fields = {
    Host: host,
    Connection: 'close',
    ...headers,
    ...(body === '' ? {} : { 'Content-Length': String(body.length), 'Content-Type': 'application/x-www-form-urlencoded' }),
  }
  const tls = isTls
    ? { rejectUnauthorized: false, servername: /^[\d.]+$/.test(host) ? undefined : host.replace(/:\d+$/, '') }
    : {}
  const failed = (/** @type {Error} */ error) =>
    resolve({ status: 0, headers: [], body: /** @type {NodeJS.ErrnoException} */ (error).code ?? error.message })
  const request = send(
    { host: at.host, port: at.port, method, path: target, headers: fields, agent: false, timeout: TIMEOUT_MS, ...tls },
    (response) => {
      /** @type {Buffer[]} */
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', failed)
      response.on('end', () => {
        const { rawHeaders } = response
        const pairs = rawHeaders.flatMap((name, at) =>
          at % 2 === 0 ? [/** @type {const} */ ([name.toLowerCase(), rawHeaders[at + 1] ?? ''])] : [],
        )
        const bytes = Buffer.concat(chunks)
        const isGzip = response.headers['content-encoding'] === 'gzip' && bytes.length > 0
        resolve({
          status: response.statusCode ?? 0,
          headers: pairs,
          body: (isGzip ? gunzipSync(bytes) : bytes).toString('latin1'),
        })
      })
    },
  )
  request.on('timeout', () => request.destroy(new Error('timed out')))
  request.on('error', failed)
  request.end(body)
  return promise
}

/** @param {Answer} answer @param {string} name */
const valuesOf = ({ headers }, name) => headers.filter(([known]) => known === name).map(([, value]) => value)

/** Addresses of the two servers, and ids. @param {string} text */
function neutral(text) {
  return text
    .replaceAll(/127\.77\.0\.1?[12]0/g, '127.77.0.10')
    .replaceAll(/"(?:x-request-id|HTTP_X_REQUEST_ID|REQUEST_ID)": "[^"]*"/gi, '"request-id": ""')
    .replaceAll(/-(?:nginx|svc)(?=\/)/g, '')
    .replaceAll(/nginx\/[\d.]+/g, 'nginx')
}

/** @param {Answer} answer */
function isPageOfNginx({ body }) {
  return body.includes('<center>nginx')
}

/** The request as the upstream saw it; undefined: it has not answered. @param {string} body @returns {Record<string, unknown> | undefined} */
function recorded(body) {
  if (!body.startsWith('{\n ":body"')) return undefined
  const { DOCUMENT_ROOT: root, ...seen } = JSON.parse(body)
  // Without a root, nginx has one of its own.
  return root === undefined || root.endsWith('/html') || root === '' ? seen : { ...seen, DOCUMENT_ROOT: root }
}

/** Fields that this server takes from trusted proxies alone. @param {string} name */
const isForged = (name) => /^(?:HTTP_)?x[-_]forwarded[-_]/i.test(name)

/** @param {Answer} theirs @param {Answer} ours @param {DerivedRequest} request */
export function differencesOf(theirs, ours, request) {
  /** @type {{ kind: string, theirs: unknown, ours: unknown }[]} */
  const found = []
  const add = (/** @type {string} */ kind, /** @type {unknown} */ left, /** @type {unknown} */ right) => {
    if (JSON.stringify(left) !== JSON.stringify(right)) found.push({ kind, theirs: left, ours: right })
  }
  add('status', theirs.status, ours.status)
  // RFC 9110 wants Allow with 405; nginx names ranges with whole files alone.
  const ignored = theirs.status === 405 ? ['allow'] : theirs.status === 206 ? ['accept-ranges'] : []
  if (theirs.status !== ours.status) return found
  const isPage = isPageOfNginx(theirs)
  const names = new Set(
    [...theirs.headers, ...ours.headers]
      .map(([name]) => name)
      .filter((name) => !NOT_COMPARED.has(name) && !ignored.includes(name)),
  )
  for (const name of names) add(name, valuesOf(theirs, name).map(neutral), valuesOf(ours, name).map(neutral))
  for (const name of ['etag', 'last-modified', 'expires', 'accept-ranges'])
    if (!ignored.includes(name)) add(`has ${name}`, valuesOf(theirs, name).length, valuesOf(ours, name).length)
  const words = (/** @type {Answer} */ answer) =>
    valuesOf(answer, 'vary')
      .flatMap((value) => value.toLowerCase().split(/\s*,\s*/))
      .sort()
  add('vary', words(theirs), words(ours))
  add('content-type', valuesOf(theirs, 'content-type'), valuesOf(ours, 'content-type'))
  if (isPage || request.method === 'HEAD') return found
  const [left, right] = [recorded(neutral(theirs.body)), recorded(neutral(ours.body))]
  if (left === undefined || right === undefined) add('body', neutral(theirs.body), neutral(ours.body))
  else
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)]))
      if (right[name] !== undefined || !isForged(name)) add(`upstream sees ${name}`, left[name], right[name])
  return found
}
