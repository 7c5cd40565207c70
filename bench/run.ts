// Runs the benchmarks and prints their tables:
//
//   npm run bench                       all scenarios
//   npm run bench -- page100 static     some of them
//   SECONDS=10 npm run bench            longer rounds
//
// Every server is pinned to one core and the load to the other, so ratios between servers of one run mean something;
// absolute figures mean little on a shared machine.
import { execFileSync } from 'node:child_process'
import { formatTable, type Row } from './lib/table.ts'
import { hasNext } from './peers/next.ts'
import { hasNginx } from './peers/nginx.ts'
import { hasVarnish } from './peers/varnish.ts'
import { cluster } from './scenarios/cluster.ts'
import { compileModules } from './scenarios/compile.ts'
import { fastcgiKept, fastcgiTenKilobytes } from './scenarios/fastcgi.ts'
import { memoryPerSite, reloadThousand, startToReady } from './scenarios/footprint.ts'
import { fullCaches } from './scenarios/full-caches.ts'
import { isrHits, missStorm } from './scenarios/isr-pages.ts'
import { isrStoreEntries, isrStorePurges } from './scenarios/isr-store.ts'
import { l0Browser, l0Hit, l0Limited, l0NotModified } from './scenarios/l0.ts'
import { proxyTenKilobytes } from './scenarios/proxy.ts'
import { proxyCacheHits } from './scenarios/proxy-cache.ts'
import { proxyGigabyte } from './scenarios/proxy-gigabyte.ts'
import { wholePurges } from './scenarios/purge.ts'
import { redisFaults } from './scenarios/redis-faults.ts'
import { pageWhileReplaced } from './scenarios/restart.ts'
import { download, page100, page1000, pageStreaming, staticFile } from './scenarios/throughput.ts'
import { tlsHandshakes, tlsHits } from './scenarios/tls.ts'
import { l0Traced, pageTraced } from './scenarios/tracing.ts'
import { isrGuarded, l0Guarded } from './scenarios/waf.ts'

const seconds = Number(process.env.SECONDS ?? 4)

const scenarios: Readonly<Record<string, () => Promise<Row[]>>> = {
  static: () => staticFile(seconds),
  download: () => download(seconds),
  'l0-1k': () => l0Hit('1 KB', seconds),
  'l0-10k': () => l0Hit('10 KB', seconds),
  'l0-32k': () => l0Hit('32 KB', seconds),
  'l0-304': () => l0NotModified(seconds),
  'l0-browser': () => l0Browser(seconds),
  'l0-limit': () => l0Limited(seconds),
  'l0-traced': () => l0Traced(seconds),
  'page-traced': () => pageTraced(seconds),
  'l0-waf': () => l0Guarded(seconds),
  'isr-waf': () => isrGuarded(seconds),
  tls: () => tlsHits(seconds),
  'tls-handshakes': () => tlsHandshakes(seconds),
  page100: () => page100(seconds),
  page1000: () => page1000(seconds),
  streaming: () => pageStreaming(seconds),
  'proxy-10k': () => proxyTenKilobytes(seconds),
  'proxy-1g': proxyGigabyte,
  fastcgi: () => fastcgiTenKilobytes(seconds),
  'fastcgi-10k': () => fastcgiKept(10_240, seconds),
  'fastcgi-100': () => fastcgiKept(100, seconds),
  'proxy-cache': () => proxyCacheHits(seconds),
  compile: compileModules,
  ready: startToReady,
  memory: memoryPerSite,
  reload: reloadThousand,
  isr: () => isrHits(seconds),
  'miss-storm': missStorm,
  'isr-store': isrStoreEntries,
  'isr-purge': isrStorePurges,
  'full-caches': fullCaches,
  purge: wholePurges,
  restart: pageWhileReplaced,
  cluster,
  'redis-faults': redisFaults,
}

function requireTools(): void {
  try {
    execFileSync('sh', ['-c', 'command -v wrk && command -v taskset'], { stdio: 'ignore' })
  } catch {
    console.error('wrk and taskset are needed: run bench/setup.sh')
    process.exit(69)
  }
  if (!hasNginx) console.error('nginx is not installed: left out (bench/setup.sh installs it)')
  if (!hasVarnish) console.error('Varnish is not installed: left out (bench/setup.sh installs it)')
  if (!hasNext) console.error('the Next.js build is missing: left out (bench/setup.sh makes it)')
}

requireTools()
const names = process.argv.slice(2)
const unknown = names.filter((name) => !(name in scenarios))
if (unknown.length > 0) {
  console.error(`no scenario ${unknown.join(', ')}; there are: ${Object.keys(scenarios).join(', ')}`)
  process.exit(64)
}
const rows: Row[] = []
for (const name of names.length > 0 ? names : Object.keys(scenarios)) {
  console.error(name)
  rows.push(...((await scenarios[name]?.()) ?? []))
}
console.log(formatTable(rows))
