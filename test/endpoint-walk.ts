import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { type Cleanup, type Server, startServer, tempDir, tempSite, writeFiles } from '@svc/testkit'
import type { Endpoint } from '../packages/admin/src/index.ts'
import { type EndpointCase, endpointCases, key as fakeKey, nameOf } from '../packages/admin/test/endpoint-cases.ts'
import { targetOf } from '../packages/admin/test/malformed-requests.ts'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'

type Listed = Pick<Endpoint, 'method' | 'path' | 'group' | 'access'>

/** Senders of requests. Those with a name are users of that role, from elsewhere. */
export const senders = ['machine', 'elsewhere', 'vera', 'tom', 'ida', 'root'] as const
type Sender = (typeof senders)[number]

type Fields = Readonly<Record<string, string>>

interface Answer {
  readonly status: number
  /** Undefined: it is no JSON. */
  readonly json: unknown
}

/** An endpoint of a running server, and its statuses by sender. */
interface Row {
  readonly endpoint: Listed
  readonly statuses: Readonly<Record<Sender, number>>
}

const page = 'export const revalidate = 3600\nexport default () => <p>{crypto.randomUUID()}</p>'

const vhost =
  'upstream back { server 127.0.0.1:9; } server { listen 127.0.0.1:0; server_name back.test; location / { proxy_pass http://back; } }'

/**
 * Starts the product with all groups, the site shop of the tenant acme, the site blog of no tenant and a vhost. Pages of both sites are
 * stored.
 */
export async function startWithAll(t: Cleanup): Promise<Server> {
  const dir = tempDir(t, 'vhosts')
  writeFiles(dir, { 'back.conf': vhost })
  const table = (id: string, tenant: string) =>
    `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "${tempSite(t, { 'app/page.tsx': page })}"\n${tenant}\n`
  const sites = table('shop', 'tenant = "acme"') + table('blog', '')
  const task = '[[tasks]]\nname = "nightly"\nschedule = "0 3 * * *"\nhandler = "http::GET /"\n'
  const users = adminToml.replace('[endpoints]\n', '[endpoints]\nobs = true\n')
  const server = await startServer(t, {
    config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 1\nvhosts = ["${dir}/*.conf"]\n${users}\n[render]\nworkers = 1\n${task}${sites}`,
  })
  for (const host of ['shop.test', 'blog.test']) await ask(server, 'GET', '/', { host })
  // Sessions and the audit log are not empty.
  const body = JSON.stringify({ username: 'vera', ttl_secs: 60 })
  const json = { 'content-type': 'application/json', 'content-length': `${body.length}` }
  await ask(server, 'POST', '/__svc/admin/api/tokens', { ...json, ...(await bearer('root')) }, body)
  return server
}

/** Sends a request. Streams of events end after their head. */
function ask(server: Server, method: string, target: string, headers: Fields, body?: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request(server.url + target, { method, headers, agent: new Agent() }, (response) => {
    const { statusCode: status = 0, headers: fields } = response
    const type = fields['content-type'] ?? ''
    if (type.startsWith('text/event-stream')) {
      resolve({ status, json: undefined })
      sent.destroy()
      return
    }
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      resolve({ status, json: type === 'application/json' ? JSON.parse(text) : undefined })
    })
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}

async function fieldsOf(sender: Sender): Promise<Fields> {
  if (sender === 'machine') return {}
  const elsewhere = { 'x-forwarded-for': '192.0.2.7' }
  return sender === 'elsewhere' ? elsewhere : { ...elsewhere, ...(await bearer(sender)) }
}

/** The endpoints that a running server lists. */
async function listed(server: Server): Promise<Listed[]> {
  const response = await fetch(`${server.url}/__svc/no-such-endpoint`)
  return ((await response.json()) as { endpoints: Listed[] }).endpoints
}

function caseOf(endpoint: Listed): EndpointCase {
  return endpointCases[nameOf(endpoint)] ?? { answer: {} }
}

/** The target of a harmless request: one that reads, or one with a parameter that no endpoint has. */
function harmlessTarget(endpoint: Listed): string {
  const right = caseOf(endpoint)
  if (endpoint.method === 'GET') return targetOf(endpoint, right)
  return targetOf(endpoint, { ...right, query: { ...right.query, no_such_parameter: '1' } })
}

/** Reads every GET endpoint of a running server as a super_admin. */
export async function readAll(server: Server): Promise<{ endpoint: Listed; answer: Answer }[]> {
  const rows = []
  const fields = await fieldsOf('root')
  const { json } = await ask(server, 'GET', '/__svc/obs/cache', fields)
  const [stored] = (json as { readonly entries: readonly { readonly key: string }[] }).entries
  const key = stored?.key ?? assert.fail('a page is stored')
  for (const endpoint of (await listed(server)).filter(({ method }) => method === 'GET')) {
    const answer = await ask(server, 'GET', harmlessTarget(endpoint).replace(fakeKey, key), fields)
    rows.push({ endpoint, answer })
  }
  return rows
}

/** Calls every endpoint of a running server as each sender. Nothing is changed by it: who may call an endpoint that changes something gets 400. */
export async function walkEndpoints(server: Server): Promise<Row[]> {
  const rows: Row[] = []
  for (const endpoint of await listed(server)) {
    const statuses: Partial<Record<Sender, number>> = {}
    for (const sender of senders) {
      const { status } = await ask(server, endpoint.method, harmlessTarget(endpoint), await fieldsOf(sender))
      statuses[sender] = status
    }
    rows.push({ endpoint, statuses: statuses as Record<Sender, number> })
  }
  return rows
}
