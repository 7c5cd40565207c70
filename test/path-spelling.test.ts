import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp, startServer, tempSite } from '@svc/testkit'

const site = {
  'middleware.ts': `
import { NextResponse } from 'next/server'
export function middleware(request) {
  const { pathname } = request.nextUrl
  if (pathname.startsWith('/admin')) return new Response('denied', { status: 403 })
  if (pathname === '/rewritten') return NextResponse.rewrite(new URL('/echo//%61%2fb?x=%61', request.url))
  return NextResponse.next()
}`,
  'app/admin/page.tsx': 'export default function Page() { return <p>for admins</p> }',
  'app/echo/[...rest]/route.ts': 'export const GET = (request) => new Response(request.url)',
  'public/admin/file.txt': 'for admins',
}

test('a guard in middleware is not passed by with another spelling of the path', async (t) => {
  const server = await startServer(t, {
    config: `[[sites]]\nid = "guarded"\nhostnames = ["guarded.localhost"]\nroot = "${tempSite(t, site)}"\n`,
  })
  const spellings = ['/admin', '//admin', '/%61dmin', '/%61%64%6d%69%6e', '/admin/', '//admin//', '/admin%2F']
  for (const path of [...spellings, '//admin/file.txt', '/admi%6e/file.txt', '/.//admin/file.txt']) {
    const answer = await fetchHttp(server.url + path)
    assert.deepEqual([answer.status, answer.text], [403, 'denied'], path)
  }
})

test('a handler sees the path that was routed, with the query as it was sent', async (t) => {
  const server = await startServer(t, {
    config: `[[sites]]\nid = "guarded"\nhostnames = ["guarded.localhost"]\nroot = "${tempSite(t, site)}"\n`,
  })
  const echoed = async (path: string) => new URL((await fetchHttp(server.url + path)).text)
  const { pathname, search, port } = await echoed('/echo//%41/b%2fc?q=%41//')
  assert.deepEqual([pathname, search, port], ['/echo/A/b%2Fc', '?q=%41//', new URL(server.url).port])
  assert.equal((await echoed('/rewritten')).pathname, '/echo/a%2Fb')
})
