import assert from 'node:assert/strict'
import { join } from 'node:path'
import {
  Child,
  type Load,
  type Server,
  startLoad,
  startServer,
  svcCommand,
  tempDir,
  writeCertificate,
  writeFiles,
} from '@svc/testkit'
import { MemoryWatch } from './memory-watch.ts'
import { repeat, type SoakPart, type SoakRun } from './soak-part.ts'

const CERTIFICATES = 200
/** Names of each certificate. */
const HOSTS = 5
const REQUESTS_PER_ROUND = 10_000
const LOADS = [0, 7, 131]

const hostOf = (certificate: number, at: number) => `h${at}.c${certificate}.test`

function hostsOf(certificate: number): string[] {
  return Array.from({ length: HOSTS }, (_, at) => hostOf(certificate, at))
}

/** A thousand vhosts, five for each of two hundred certificates. */
function writeVhosts(dir: string, round: number): void {
  const blocks: string[] = []
  for (let certificate = 0; certificate < CERTIFICATES; certificate++) {
    for (const host of hostsOf(certificate)) {
      const files = `ssl_certificate ${dir}/c${certificate}.crt; ssl_certificate_key ${dir}/c${certificate}.key;`
      blocks.push(`server { listen 127.0.0.1:0 ssl; server_name ${host}; ${files}
  location / { return 200 "$host"; }
  location /round { return 200 "${round}"; } }`)
    }
  }
  writeFiles(dir, { 'all.conf': blocks.join('\n') })
}

function issue(dir: string, certificate: number, round: number): void {
  writeCertificate(dir, `c${certificate}`, { commonName: `c${certificate} of round ${round}`, hosts: hostsOf(certificate) })
}

async function reload({ configFile = '' }: Server, run: SoakRun): Promise<string> {
  const command = new Child(run.cleanup, svcCommand, ['reload', '--config', configFile])
  const { code } = await command.exited
  assert.equal(code, 0, command.stderr)
  return command.stdout.trim()
}

async function until(loads: readonly Load[], requests: number): Promise<void> {
  const done = () => loads.reduce((sum, load) => sum + load.done(), 0)
  const wanted = done() + requests
  while (done() < wanted) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** Reloads with a thousand vhosts and two hundred certificates under load over TLS; a certificate changes in each. */
export const tlsReload: SoakPart = {
  about: 'a thousand vhosts and two hundred certificates, reloaded under load over TLS: no request fails',
  rounds: 10,
  async run(run) {
    const dir = tempDir(run.cleanup, 'tls-soak')
    for (let certificate = 0; certificate < CERTIFICATES; certificate++) issue(dir, certificate, 0)
    writeVhosts(dir, 0)
    const server = await startServer(run.cleanup, {
      config: `[server]\nworkers = 2\nvhosts = ["${join(dir, '*.conf')}"]\n[logging]\naccess = false\n`,
    })
    const memory = new MemoryWatch(server.ready.pid)
    const url = `${server.url}/`
    let slowestMs = 0
    const loads = LOADS.map((certificate) => {
      const host = hostOf(certificate, 1)
      return startLoad({
        url,
        host,
        keepAlive: 3,
        fresh: 1,
        check: ({ status, text }) => (status === 200 && text === host ? undefined : `${status} ${text}`),
      })
    })
    const done = await repeat(run, async (round) => {
      await until(loads, REQUESTS_PER_ROUND)
      issue(dir, LOADS[round % LOADS.length] ?? 0, round)
      writeVhosts(dir, round)
      const startedAt = performance.now()
      const said = await reload(server, run)
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
      return `${said}, ${memory.take()}`
    })
    const reports = await Promise.all(loads.map((load) => load.stop()))
    const failures = reports.flatMap((report) => report.failures)
    run.report(
      `${reports.reduce((sum, { ok }) => sum + ok, 0)} requests, ${failures.length} failed; slowest reload ${Math.round(slowestMs)} ms`,
    )
    assert.deepEqual(failures.slice(0, 5), [])
    return done
  },
}
