import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { connect } from 'node:tls'
import { Child, PROCESS_WAIT_MS, type Server, startServer, svcCommand, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { reloaded } from '../control.ts'
import type { AcmeServer } from './acme-server.ts'

/** Common names that a client sees of a certificate. */
export interface Seen {
  readonly subject: string
  readonly issuer: string
}

/** The certificate that a client gets. */
export async function seenAt({ ready }: Server, servername: string): Promise<Seen> {
  const port = Number(new URL(ready.listen.find((url) => url.startsWith('https:')) ?? '').port)
  const socket = connect({ port, host: '127.0.0.2', servername, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    const { subject, issuer } = socket.getPeerCertificate()
    return { subject: String(subject.CN), issuer: String(issuer.CN) }
  } finally {
    socket.destroy()
  }
}

/** Waits until clients of a host get a certificate of the authority. */
export function issuedAt(server: Server, servername: string): Promise<Seen> {
  return waitFor(
    `a certificate for ${servername}`,
    async () => {
      const seen = await seenAt(server, servername)
      return seen.issuer === 'Test Authority' ? seen : undefined
    },
    PROCESS_WAIT_MS,
  )
}

function configFor(acme: AcmeServer, site: string, hosts: readonly string[]): string {
  return `[server]\nlisten = "127.0.0.1:0"\nlisten_tls = "127.0.0.2:0"\nworkers = 1
[tls]\nauto = true\nemail = "admin@a.test"\nacme_directory = "${acme.directory}"
[[sites]]\nid = "a"\nhostnames = ${JSON.stringify(hosts)}\nroot = "${site}"\n`
}

/** Requests to the authority go straight there. */
export const env = { NO_PROXY: '*', no_proxy: '*' }

/** Starts a server with one site of these hosts, whose certificates come from the authority. */
export async function startWith(
  t: TestContext,
  acme: AcmeServer,
  hosts: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const site = tempDir(t, 'site')
  writeFiles(site, { 'public/index.html': 'hello' })
  const server = await startServer(t, { config: configFor(acme, site, hosts), env: { ...env, ...more } })
  acme.lead(server.url)
  return server
}

/** Directory of accounts and certificates. */
export function stateOf({ configFile = '' }: Server): string {
  const acme = join(dirname(configFile), 'state/acme')
  const [only = '', ...others] = readdirSync(acme)
  assert.deepEqual(others, [])
  return join(acme, only)
}

/** Starts a server that has ended once more. */
export async function restart(t: TestContext, configFile: string): Promise<Server> {
  const child = new Child(t, svcCommand, ['serve', '--config', configFile], { env: { ...process.env, ...env } })
  const line = await child.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  const ready = JSON.parse(line) as Server['ready']
  return { child, ready, url: ready.listen[0] ?? '', configFile }
}

/** Changes the configuration of a server and has it taken into service. */
export async function reconfigure(server: Server, from: string, to: string): Promise<void> {
  const { configFile = '' } = server
  writeFileSync(configFile, readFileSync(configFile, 'utf8').replace(from, to))
  await reloaded(server)
}
