import { spawn } from 'node:child_process'
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Contender, compare } from '../lib/compare.ts'
import { memoryBytes } from '../lib/process-tree.ts'
import { startPinned } from '../lib/server-process.ts'
import { figure, type Row } from '../lib/table.ts'
import { startBareServer } from '../peers/bare.ts'
import { freePort, hasNginx, startNginxProxy } from '../peers/nginx.ts'
import { repositoryRoot, rowsSite, startSvc, workDir } from '../peers/svc.ts'

const CONNECTIONS = 32

/** Writes a configuration whose only server passes everything on. One worker, no compression, as nginx has it. */
async function writeProxy(upstream: string): Promise<string> {
  const dir = join(workDir, 'proxy')
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  writeFileSync(
    join(dir, 'web.conf'),
    `upstream origin { server ${new URL(upstream).host}; keepalive 64; }
server { listen 127.0.0.1:${port}; gzip off; access_log off; client_max_body_size 0;
  location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; } }
`,
  )
  const server = '[server]\nvhosts = ["web.conf"]\nworkers = 1\nstate_dir = "state"\nrun_dir = "run"\n'
  const rest = '[cache]\ndir = "cache"\n\n[logging]\naccess = false\nlevel = "warn"\n\n[render]\nworkers = 1\n'
  const file = join(dir, 'svc.config.toml')
  writeFileSync(file, `${server}\n${rest}`)
  return file
}

/** 10 KB from an upstream over kept connections: this server and nginx in front of the same. */
export async function proxyTenKilobytes(seconds: number): Promise<Row[]> {
  const upstream = await startBareServer('uws', join(rowsSite, 'public/static.html'), 'text/html; charset=utf-8')
  try {
    const contenders: Contender[] = [{ name: 'svc', start: async () => startSvc(await writeProxy(upstream.url)) }]
    if (hasNginx) contenders.push({ name: 'nginx', start: () => startNginxProxy(upstream.url) })
    return await compare({ scenario: 'proxy, 10 KB', path: '/', contenders, seconds, connections: CONNECTIONS })
  } finally {
    await upstream.stop()
  }
}

const GIGABYTE = 1 << 30
const MEGABYTE = 1 << 20
const SAMPLE_MS = 50

/** Runs curl and says how it ended, and how far the memory of a process tree has gone up meanwhile. */
function transfer(root: number, args: readonly string[]): Promise<{ readonly code: number | null; readonly peakBytes: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | null; peakBytes: number }>()
  let peakBytes = 0
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, memoryBytes(root))
  }, SAMPLE_MS)
  const child = spawn('curl', ['-s', '-f', '-o', '/dev/null', ...args], { stdio: 'inherit' })
  child.once('error', reject)
  child.once('exit', (code) => {
    clearInterval(timer)
    resolve({ code, peakBytes })
  })
  return promise
}

/** A gigabyte down, up, and down to a client that takes its time: what it costs in memory above the idle service. */
export async function proxyGigabyte(): Promise<Row[]> {
  const upstream = await startPinned(
    {
      command: join(repositoryRoot, 'bin/node'),
      args: ['--disable-warning=ExperimentalWarning', join(repositoryRoot, 'bench/servers/large.ts')],
      ready: (output) => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0],
    },
    2,
  )
  const svc = await startSvc(await writeProxy(upstream.url))
  try {
    const file = join(workDir, 'proxy/gigabyte')
    writeFileSync(file, '')
    truncateSync(file, GIGABYTE)
    // Once before, so that what comes with the first request is not counted.
    await transfer(svc.pid, ['-r', '0-0', '--max-filesize', '1', svc.url])
    const idle = memoryBytes(svc.pid)
    const ways: Readonly<Record<string, readonly string[]>> = {
      down: [svc.url],
      up: ['-T', file, `${svc.url}/up`],
      'down, 100 MB/s': ['--limit-rate', '100M', svc.url],
    }
    const rows: Row[] = []
    for (const [way, args] of Object.entries(ways)) {
      const { code, peakBytes } = await transfer(svc.pid, args)
      const figures = { 'MB above idle': figure((peakBytes - idle) / MEGABYTE), ended: code === 0 ? 'whole' : `curl ${code}` }
      rows.push({ scenario: 'proxy, 1 GB', server: way, figures })
    }
    return rows
  } finally {
    await Promise.all([svc.stop(), upstream.stop()])
  }
}
