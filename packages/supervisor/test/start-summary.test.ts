import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config, SiteConfig } from '@svc/config'
import type { GenerationSpec } from '@svc/protocol'
import { startSummary } from '../src/master/start-summary.ts'

function specOf(sites: readonly Partial<SiteConfig>[], port = 8080): GenerationSpec {
  return {
    generation: 1,
    config: {} as Config,
    sites: sites.map((site) => ({ hostnames: [], any_host: false, mode: 'production', ...site }) as SiteConfig),
    loopToken: '',
    moduleDir: '/m',
    web: {
      servers: [],
      upstreams: [],
      maps: [],
      computed: [],
      limitZones: [],
      typeTables: [],
      recordsUpstreams: false,
      recordsBodies: false,
    },
    tls: {},
    listen: [{ name: '127.0.0.1:0', host: '127.0.0.1', port, engine: 'uws' }],
  }
}

test('the summary lists each site with its addresses and directory, and how to stop', () => {
  const sites = [
    { id: 'blog', hostnames: ['blog.test', '*.blog.test'], root: '/srv/blog' },
    { id: 'a', hostnames: ['a.test'], root: '/srv/a' },
  ]
  const lines = startSummary(specOf(sites), 42).split('\n')
  assert.ok(lines.some((line) => /^ {2}svc \S+ serves 2 sites on 127\.0\.0\.1:8080 \(ready in 42 ms\)$/.test(line)))
  assert.ok(lines.includes('  blog  http://blog.test:8080/ http://*.blog.test:8080/  /srv/blog'))
  assert.ok(lines.includes('  a     http://a.test:8080/  /srv/a'))
  assert.ok(lines.includes('  Ctrl+C stops it.'))
})

test('a standalone site is shown at the address that is listened on; the usual port is left out', () => {
  const text = startSummary(specOf([{ id: 'default', any_host: true, root: '/srv/s', mode: 'development' }], 80), 1)
  assert.match(text, /default {2}http:\/\/127\.0\.0\.1\/ {2}\/srv\/s/)
  assert.match(text, /development mode/)
})

test('many sites are not all listed', () => {
  const sites = Array.from({ length: 25 }, (_, index) => ({ id: `s${index}`, hostnames: [`s${index}.test`], root: '/srv' }))
  const text = startSummary(specOf(sites), 1)
  assert.equal(text.match(/http:/g)?.length, 10)
  assert.match(text, /and 15 more: svc sites/)
})
