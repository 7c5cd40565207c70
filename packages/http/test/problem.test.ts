import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@svc/core'
import { HttpError, prefersHtml, problemOf, problemResponse } from '../src/index.ts'

test('never shows the message of an internal error', () => {
  assert.deepEqual(problemOf(new Error('password=1')), { status: 500, code: 'internal_error' })
  assert.deepEqual(problemOf('text', 'r1'), { status: 500, code: 'internal_error', requestId: 'r1' })
  assert.deepEqual(problemOf(new AppError('X_FAILED', 'inner', { status: 503 })), { status: 503, code: 'x_failed' })
})

test('shows the message of an exposable error', () => {
  const problem = problemOf(new HttpError('HTTP_BODY_TOO_LARGE', 'more than 10 bytes'), 'r2')
  assert.deepEqual(problem, { status: 413, code: 'http_body_too_large', detail: 'more than 10 bytes', requestId: 'r2' })
})

test('answers problem+json (RFC 9457 section 3)', () => {
  const { head, body } = problemResponse(
    { status: 405, code: 'method_not_allowed', detail: 'not so', requestId: 'r', errors: [{ path: 'a.b', message: 'no' }] },
    'application/json',
    [['allow', 'GET, HEAD']],
  )
  assert.equal(head.status, 405)
  assert.deepEqual(head.headers, [
    ['content-type', 'application/problem+json'],
    ['cache-control', 'no-store'],
    ['vary', 'Accept'],
    ['allow', 'GET, HEAD'],
  ])
  assert.deepEqual(JSON.parse(Buffer.from(body).toString()), {
    type: 'about:blank',
    title: 'Method Not Allowed',
    status: 405,
    code: 'method_not_allowed',
    detail: 'not so',
    request_id: 'r',
    errors: [{ path: 'a.b', message: 'no' }],
  })
})

test('answers a page to a browser, with everything escaped', () => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const { head, body } = problemResponse({ status: 404, code: 'not_found', detail: '<script>"&\'' }, accept)
  assert.equal(head.headers.find(([name]) => name === 'content-type')?.[1], 'text/html; charset=utf-8')
  const html = Buffer.from(body).toString()
  assert.ok(html.includes('404 Not Found') && html.includes('&lt;script&gt;&quot;&amp;&#39;') && !html.includes('<script>'))
})

test('knows who would rather read HTML (RFC 9110 section 12.5.1)', () => {
  for (const accept of ['text/html', 'text/html, application/json', 'TEXT/HTML;q=0.5, */*'])
    assert.equal(prefersHtml(accept), true, accept)
  for (const accept of ['', '*/*', 'text/*', 'text/html;q=0', 'text/html;q=0.5, application/json', 'application/json']) {
    assert.equal(prefersHtml(accept), false, accept)
  }
})
