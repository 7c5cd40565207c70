import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tempSite } from '@svc/testkit'
import { scanSite } from '../src/scan/scan-site.ts'

const page = 'export default function Page() { return null }\n'
const handler = 'export function GET() { return new Response() }\n'

test('a route has the shortest time that its page and layouts declare, or none', (t) => {
  const root = tempSite(t, {
    'app/layout.tsx': 'export default function Layout({ children }) { return children }\n',
    'app/page.tsx': page,
    'app/news/layout.tsx': 'export const revalidate = 60;\nexport default function Layout({ children }) { return children }\n',
    'app/news/page.tsx': `export const revalidate: number = 300\n${page}`,
    'app/news/live/page.tsx': `export const revalidate = 0\n${page}`,
    'app/cart/page.tsx': `export const dynamic = "force-dynamic"\nexport const revalidate = 60\n${page}`,
    'app/about/page.tsx': `export const revalidate = false\n${page}`,
    'app/computed/page.tsx': `export const revalidate = 60 * 60\n// export const dynamic = 'force-dynamic'\n${page}`,
    'app/feed/route.ts': `export const dynamic = 'force-static'\n${handler}`,
    'app/api/route.ts': handler,
  })
  const found = scanSite({ root }).routes.map(({ pattern, cache }) => [pattern, cache])
  assert.deepEqual(Object.fromEntries(found), {
    '/': undefined,
    '/news': { mode: 'timed', secs: 60 },
    '/news/live': { mode: 'never' },
    '/cart': { mode: 'never' },
    '/about': { mode: 'until_purged' },
    '/computed': undefined,
    '/feed': { mode: 'until_purged' },
    '/api': undefined,
  })
})
