// Measures a hit of L0 by HTTP/2 on engine node beside nginx with a file of the same size: requests per CPU second of both, in
// turn, over 16 connections with 8 streams each.
//
//   bin/node bench/http2.ts             body of 1024 bytes, 5 rounds of 2 seconds
//   BYTES=32768 SECONDS=3 bin/node bench/http2.ts
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeCertificate } from './lib/certificate.ts'
import { cpuSeconds } from './lib/process-tree.ts'
import { type ServerProcess, startPinned } from './lib/server-process.ts'
import { freePort, hasNginx } from './peers/nginx.ts'

const ROUNDS = 5
const seconds = Number(process.env['SECONDS'] ?? 2)
const bytes = Number(process.env['BYTES'] ?? 1024)
const here = fileURLToPath(new URL('.', import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'bench-http2-'))
// The worker of nginx is another user.
chmodSync(dir, 0o755)
const { certFile, keyFile } = makeCertificate(dir)
const run = promisify(execFile)

function startOwn(): Promise<ServerProcess> {
  return startPinned({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join(here, 'servers/l0.ts'), String(bytes), 'node', certFile, keyFile],
    ready: (output) => /https:\/\/[\d.:]+/.exec(output)?.[0],
  })
}

async function startNginx(): Promise<ServerProcess> {
  const root = join(dir, 'root')
  mkdirSync(root, { recursive: true })
  writeFileSync(join(root, 'index.html'), Buffer.alloc(bytes, 'x'))
  const port = await freePort()
  const file = join(dir, 'nginx.conf')
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join(' ')
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${dir}/nginx.pid; error_log stderr notice;
events { worker_connections 1024; }
http { access_log off; sendfile on; keepalive_requests 100000000; open_file_cache max=100; ${temp}
  server { listen 127.0.0.1:${port} ssl http2; ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; root ${root}; } }
`,
  )
  const ready = (output: string) => (output.includes('start worker process ') ? `https://127.0.0.1:${port}` : undefined)
  return startPinned({ command: '/usr/sbin/nginx', args: ['-p', dir, '-e', 'stderr', '-c', file], ready })
}

/** Loads a server for a time; requests per CPU second. */
async function round({ url, pid }: ServerProcess, duration: number): Promise<number> {
  const before = cpuSeconds(pid)
  const args = ['-c', '1', 'h2load', '-t1', '-c16', '-m8', `-D${duration}`, `${url}/`]
  const { stdout } = await run('taskset', args, { timeout: (duration + 30) * 1000 })
  const total = Number(/(\d+) succeeded/.exec(stdout)?.[1] ?? 0)
  const bad = Number(/(\d+) failed/.exec(stdout)?.[1] ?? 0)
  if (total === 0 || bad > 0) throw new Error(`${url}: ${total} succeeded, ${bad} failed`)
  return total / Math.max(cpuSeconds(pid) - before, 0.01)
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

if (!hasNginx) throw new Error('nginx is not installed: run bench/setup.sh')
const servers = [await startOwn(), await startNginx()] as const
try {
  const figures: [number[], number[]] = [[], []]
  for (const server of servers) await round(server, 3)
  for (let at = 0; at < ROUNDS; at++)
    for (const [which, server] of servers.entries()) figures[which]?.push(await round(server, seconds))
  const [own, nginx] = [median(figures[0]), median(figures[1])]
  console.log(`HTTP/2, body of ${bytes} bytes, requests per CPU second of the server, median of ${ROUNDS} rounds`)
  console.log(`engine node, L0 hit  ${Math.round(own)}`)
  console.log(`nginx, static file   ${Math.round(nginx)}`)
  console.log(`ratio                ${(own / nginx).toFixed(3)}`)
} finally {
  await Promise.all(servers.map((server) => server.stop()))
}
