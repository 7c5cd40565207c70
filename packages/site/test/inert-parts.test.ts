import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemText } from '../src/manifest/parse-manifest.ts'
import { scanFiles } from './temp-site.ts'

/** Problems of a site besides a page, with lines. */
function noticesOf(t: Parameters<typeof scanFiles>[0], files: Record<string, string>): string[] {
  const { manifest, root } = scanFiles(t, { 'app/page.tsx': 'export default () => null', ...files })
  return manifest.problems.map((problem) => `${problem.severity} ${problemText(problem).replaceAll(`${root}/`, '')}`)
}

test('keys of next.config that decide who gets what answer are errors with their line, others one notice', (t) => {
  const config = `import withMdx from '@next/mdx'
const nextConfig = {
  reactStrictMode: true,
  images: { remotePatterns: [], headers: 1 },
  async headers() { return [{ source: '/', headers: [] }] },
  'basePath': '/docs',
}
nextConfig.redirects = async () => []
export default withMdx({ options: {} })(nextConfig)
`
  assert.deepEqual(noticesOf(t, { 'next.config.mjs': config }), [
    'error next.config.mjs:5: "headers" has no effect: set them by route rules of the configuration or in middleware',
    'error next.config.mjs:6: "basePath" has no effect: put the app directory below directories of that path',
    'error next.config.mjs:8: "redirects" has no effect: write them as route rules of the configuration or in middleware',
    'warning next.config.mjs: is not read: reactStrictMode, images, options',
  ])
  assert.deepEqual(noticesOf(t, { 'next.config.ts': 'export default {}' }), ['warning next.config.ts: is not read'])
})

test('conventions that do not exist here are reported, each with what to do', (t) => {
  const site = noticesOf(t, {
    'app/a/page.mdx': '',
    'app/a/forbidden.tsx': '',
    'app/a/robots.ts': '',
    'app/a/global-error.tsx': '',
    'app/global-not-found.tsx': '',
    'app/(.)photo/page.tsx': '',
    'app/a/notes.md': '',
    'app/a/page.test.ts': '',
    '.env': '',
    '.env.local': '',
    '.env.development': '',
    'instrumentation.ts': '',
    'pages/api/x.ts': '',
  })
  const env = 'is not read: move its variables into .env, or into env of the site in the configuration'
  assert.deepEqual(
    site.toSorted(),
    [
      'error app/(.)photo: intercepting routes such as "(.)photo" are not supported',
      'error app/a/forbidden.tsx: is not supported: respond with status 403 in a route or in middleware',
      'error app/a/page.mdx: is not read: rewrite it as page.tsx',
      'error pages: the Pages Router is not supported: nothing of this directory is served; move its pages into app/',
      `error .env.local: ${env}`,
      'warning app/a/global-error.tsx: has no effect here: it belongs in the app directory itself',
      'warning app/a/robots.ts: has no effect here: it belongs in the app directory itself',
      'warning app/global-not-found.tsx: has no effect: use not-found in the app directory',
      'warning instrumentation.ts: never runs: the server itself provides metrics, logs and traces',
      `warning .env.development: ${env}`,
    ].toSorted(),
  )
})

test('exports without effect and server actions are reported with their line; comments, types and strings are not', (t) => {
  const page = `// export const runtime = 'edge'
export type maxDuration = number
const text = "export const preferredRegion = 1; 'use server'"
export const dynamic = 'auto', runtime = 'edge'
export default function Page() {
  async function save() {
    'use server'
  }
  return null
}
`
  assert.deepEqual(noticesOf(t, { 'app/a/page.tsx': page, 'app/a/actions.ts': "'use server'\nexport async function f() {}" }), [
    'error app/a/actions.ts:1: "use server" is not supported: answer the form or the fetch with a handler in a route.ts',
    'error app/a/page.tsx:7: "use server" is not supported: answer the form or the fetch with a handler in a route.ts',
    'warning app/a/page.tsx:4: "runtime" has no effect: site code always runs in an isolate',
  ])
})

test('middleware without a function to run is an error', (t) => {
  assert.deepEqual(noticesOf(t, { 'proxy.ts': 'export const config = {}' }), [
    'error proxy.ts: exports neither middleware, proxy nor a default function: every request that its matcher matches fails',
  ])
  assert.deepEqual(noticesOf(t, { 'proxy.ts': 'export function proxy() {}' }), [])
})

test('generateStaticParams is told by what a module exports, for its route and the ones that its layout is around', (t) => {
  const { manifest } = scanFiles(t, {
    'app/a/[id]/page.tsx': 'export const generateStaticParams = () => []',
    'app/b/[id]/layout.tsx': 'export { generateStaticParams } from "./params"',
    'app/b/[id]/c/page.tsx': '',
    'app/c/[id]/page.tsx': '// export const generateStaticParams',
    'app/d/page.tsx': 'export const generateStaticParams = () => []',
  })
  const found = manifest.routes.filter((route) => route.hasStaticParams).map((route) => route.pattern)
  assert.deepEqual(found, ['/a/[id]', '/b/[id]/c'])
})
