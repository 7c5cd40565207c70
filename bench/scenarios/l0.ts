import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Contender, compare } from '../lib/compare.ts'
import type { ServerProcess } from '../lib/server-process.ts'
import type { Row } from '../lib/table.ts'
import { hasNginx, startNginxCache } from '../peers/nginx.ts'
import { etagOf, type Sample, startSameBytes } from '../peers/same-bytes.ts'
import { startSvc, workDir, writeConfig } from '../peers/svc.ts'
import { hasVarnish, startVarnish } from '../peers/varnish.ts'

const CONNECTIONS = 32
const HOST = 'l0.localhost'
const SIZES = { '1 KB': 1024, '10 KB': 10_240, '32 KB': 32_768 } as const

/** A site of files that are small enough for L0. */
function writeSite(): string {
  const root = join(workDir, 'l0-site')
  mkdirSync(join(root, 'public'), { recursive: true })
  for (const bytes of Object.values(SIZES)) writeFileSync(join(root, `public/${bytes}.html`), 'x'.repeat(bytes))
  return root
}

function startOwn(name: string, hasAccessLog = false): Promise<ServerProcess> {
  return startSvc(writeConfig(name, [{ id: 'l0', root: writeSite() }], '', hasAccessLog))
}

interface Hit {
  readonly scenario: string
  readonly path: string
  /** Whether the client has it already. */
  readonly isConditional: boolean
}

/** Compares answers from L0 with the same bytes from bare uWebSockets.js, and with caches that ask it. */
async function compareHit({ scenario, path, isConditional }: Hit, seconds: number): Promise<Row[]> {
  const model = await startOwn('l0-model')
  const started: ServerProcess[] = [model]
  try {
    const whole: Sample = { url: model.url + path, host: HOST }
    const headers = isConditional ? [`If-None-Match: ${await etagOf(whole)}`] : []
    const sample: Sample = { ...whole, headers }
    const origin = await startSameBytes('origin', whole)
    started.push(origin)
    const contenders: Contender[] = [
      { name: 'svc', host: HOST, start: () => startOwn('l0') },
      { name: 'raw uWebSockets.js, same bytes', host: HOST, start: () => startSameBytes('raw', sample) },
      { name: 'svc with access log', host: HOST, start: () => startOwn('l0-log', true) },
    ]
    if (hasNginx) contenders.push({ name: 'nginx proxy_cache', host: HOST, start: () => startNginxCache(origin.url) })
    if (hasVarnish) contenders.push({ name: 'Varnish', host: HOST, start: () => startVarnish(origin.url) })
    return await compare({ scenario, path, headers, contenders, seconds, connections: CONNECTIONS })
  } finally {
    await Promise.all(started.map((server) => server.stop()))
  }
}

/** A hit of L0 with a body of one of the sizes. */
export function l0Hit(size: keyof typeof SIZES, seconds: number): Promise<Row[]> {
  return compareHit({ scenario: `L0 hit, ${size}`, path: `/${SIZES[size]}.html`, isConditional: false }, seconds)
}

/** A hit of L0 for a client that has it already. */
export function l0NotModified(seconds: number): Promise<Row[]> {
  return compareHit({ scenario: 'L0 hit, 304', path: `/${SIZES['10 KB']}.html`, isConditional: true }, seconds)
}
