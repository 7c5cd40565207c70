import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Contender, compare } from '../lib/compare.ts'
import type { Row } from '../lib/table.ts'
import { startBareServer } from '../peers/bare.ts'
import { hasNext, startNext } from '../peers/next.ts'
import { hasNginx, startNginx } from '../peers/nginx.ts'
import { startReact } from '../peers/react.ts'
import { rowsSite, startSvc, workDir, writeConfig } from '../peers/svc.ts'

const CONNECTIONS = 32
const DOWNLOAD_BYTES = 100_000_000

function svc(): Contender {
  return {
    name: 'svc',
    host: 'rows.localhost',
    start: () => startSvc(writeConfig('throughput', [{ id: 'rows', root: rowsSite }])),
  }
}

/** A static file of 10 KB: this server, bare engines, nginx. */
export function staticFile(seconds: number): Promise<Row[]> {
  const file = join(rowsSite, 'public/static.html')
  const type = 'text/html; charset=utf-8'
  const contenders: Contender[] = [
    svc(),
    { name: 'raw uWebSockets.js', start: () => startBareServer('uws', file, type) },
    { name: 'node:http', start: () => startBareServer('node-http', file, type) },
  ]
  if (hasNginx) contenders.push({ name: 'nginx', start: () => startNginx(join(rowsSite, 'public')) })
  return compare({ scenario: 'static file, 10 KB', path: '/static.html', contenders, seconds, connections: CONNECTIONS })
}

/** A file of 100 MB for four clients: this server, nginx. */
export function download(seconds: number): Promise<Row[]> {
  const root = join(workDir, 'download')
  const publicDir = join(root, 'public')
  mkdirSync(publicDir, { recursive: true })
  writeFileSync(join(publicDir, 'large.bin'), randomBytes(DOWNLOAD_BYTES))
  const start = () => startSvc(writeConfig('download', [{ id: 'files', root }]))
  const contenders: Contender[] = [{ name: 'svc', host: 'files.localhost', start }]
  if (hasNginx) contenders.push({ name: 'nginx', start: () => startNginx(publicDir) })
  return compare({ scenario: 'download, 100 MB', path: '/large.bin', contenders, seconds, connections: 4 })
}

function page(scenario: string, path: string, seconds: number, more: readonly Contender[] = []): Promise<Row[]> {
  const contenders: Contender[] = [svc(), ...more]
  if (hasNext) contenders.push({ name: 'next start', start: startNext })
  return compare({ scenario, path, lightPath: '/', contenders, seconds, connections: CONNECTIONS })
}

export const page100 = (seconds: number): Promise<Row[]> =>
  page('rendered page, 100 rows, uncached', '/', seconds, [{ name: 'React on node:http', start: startReact }])
export const page1000 = (seconds: number): Promise<Row[]> => page('rendered page, 1000 rows, uncached', '/big', seconds)
export const pageStreaming = (seconds: number): Promise<Row[]> => page('rendered page, streaming', '/stream', seconds)
