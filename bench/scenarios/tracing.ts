import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Comparison, compare } from '../lib/compare.ts'
import type { Row } from '../lib/table.ts'
import { startOtlpSink } from '../peers/otlp-sink.ts'
import { type BenchSite, rowsSite, startSvc, workDir, writeConfig } from '../peers/svc.ts'

const CONNECTIONS = 32

type Traced = Pick<Comparison, 'scenario' | 'path' | 'lightPath'> & { readonly site: BenchSite }

/** The same requests with traces of a tenth of them, and metrics, going to a collector, and without it. */
async function compareTraced({ site, ...request }: Traced, seconds: number): Promise<Row[]> {
  const sink = await startOtlpSink()
  const host = `${site.id}.localhost`
  const start = (name: string, telemetry: string) => startSvc(writeConfig(`${site.id}-${name}`, [site], telemetry))
  const contenders = [
    { name: 'svc, traces of 10 %', host, start: () => start('traced', `[telemetry]\notlp_endpoint = "${sink.url}"\n`) },
    { name: 'svc', host, start: () => start('untraced', '') },
  ]
  try {
    return await compare({ ...request, contenders, seconds, connections: CONNECTIONS })
  } finally {
    sink.stop()
  }
}

/** A hit of L0 with 1 KB. */
export function l0Traced(seconds: number): Promise<Row[]> {
  const root = join(workDir, 'traced-site')
  mkdirSync(join(root, 'public'), { recursive: true })
  writeFileSync(join(root, 'public/1024.html'), 'x'.repeat(1024))
  return compareTraced({ scenario: 'L0 hit, 1 KB, traces', path: '/1024.html', site: { id: 'l0', root } }, seconds)
}

/** A page of 100 rows, rendered at each request. */
export function pageTraced(seconds: number): Promise<Row[]> {
  const site = { id: 'rows', root: rowsSite }
  return compareTraced({ scenario: 'rendered page, 100 rows, traces', path: '/', lightPath: '/', site }, seconds)
}
