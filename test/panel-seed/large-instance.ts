import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, fetchHttp, type Server, startServer, tempDir, writeCertificate, writeFiles } from '@svc/testkit'
import { hashPassword } from '../../packages/auth/src/index.ts'

const PASSWORD = 'correct horse'
const JSON_BODY = { 'content-type': 'application/json' }

const each = (count: number, text: (index: number) => string) => Array.from({ length: count }, (_, index) => text(index)).join('')
const long = (index: number, chars: number) => `${index}-${'x'.repeat(chars)}`

/** Pages with as many tags as there can be, lines of 8 KiB in the log, and failures. */
const files = {
  'app/layout.tsx': 'export default function Layout({ children }) { return <html><body>{children}</body></html> }\n',
  'app/page.tsx': 'export default function Page() { return <h1>large</h1> }\n',
  'app/tagged/[name]/page.tsx': `import { unstable_cache } from 'next/cache'
export const revalidate = 3600
export function generateStaticParams() { return [] }
export default async function Page({ params }) {
  const { name } = await params
  const tags = Array.from({ length: 120 }, (_, index) => index + '-' + 't'.repeat(240))
  const text = await unstable_cache(async () => name, ['text', name], { tags })()
  return <h1>{text.slice(0, 10)}{'b'.repeat(300_000)}</h1>
}
`,
  'app/lines/route.ts': `export const dynamic = 'force-dynamic'
export function GET() {
  for (let index = 0; index < 20; index++) console.log(index + ' ' + 'é'.repeat(4_000))
  return new Response('ok')
}
`,
  'app/broken/[name]/page.tsx':
    "export const dynamic = 'force-dynamic'\nexport default function Page() { throw new Error('broken') }\n",
  ...Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [
      `app/${'r'.repeat(60)}/${index}/route.ts`,
      "export const dynamic = 'force-dynamic'\nexport function GET() { return new Response('ok') }\n",
    ]),
  ),
}

async function configOf(dir: string): Promise<string> {
  const hash = await hashPassword(PASSWORD)
  const user = (name: string, role: string) =>
    `[[admin.users]]\nusername = "${name}"\npassword_hash = "${hash}"\nrole = "${role}"\n`
  const at = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 90 * 86_400_000) }
  const hosts = (index: number) => Array.from({ length: 100 }, (_, host) => `h${host}-${'n'.repeat(40)}.cert-${index}.example`)
  const certs = each(20, (index) => {
    const { cert, key } = writeCertificate(join(dir, 'tls'), `c${index}`, {
      commonName: `c${index}`,
      hosts: hosts(index),
      validity: at,
    })
    return `[[tls.certs]]\ncert = "${cert}"\nkey = "${key}"\n`
  })
  return `[server]
listen = "127.0.0.1:0"
listen_tls = "127.0.0.1:0"
workers = 1
vhosts = ["${dir}/vhosts/*.conf"]
[admin]
enabled = true
jwt_secret = "0123456789abcdef0123456789abcdef"
${user('alice', 'super_admin')}${each(400, (index) => user(long(index, 180), 'viewer'))}
[waf]
mode = "monitor"
${each(300, (index) => `[[waf.rules]]\nid = "rule-${index}"\naction = "monitor"\nwhen = { path = "/${long(index, 400)}" }\n`)}
[[waf.rules]]
id = "long"
action = "monitor"
when = { path = "^/waf" }
${certs}
[[sites]]
id = "large"
hostnames = ["large.localhost"]
root = "${dir}/large"
${each(1_000, (index) => {
  const id = `site-${String(index).padStart(4, '0')}`
  return `[[sites]]\nid = "${id}"\nhostnames = ["${id}.${'h'.repeat(60)}.example", "www.${id}.${'h'.repeat(60)}.example"]\nroot = "."\n`
})}
${each(300, (index) => {
  const handler = `http::GET /a.txt?${'q'.repeat(500)}`
  return `[[tasks]]\nname = "task-${index}"\nschedule = "0 3 1 1 *"\nhandler = "${handler}"\nhost = "large.localhost"\n`
})}
${each(50, (index) => `[[obs.slos]]\nname = "slo-${index}"\nsite = "large"\nkind = "availability"\nobjective = 0.999\n`)}
${each(100, (index) => {
  const hint = 'i'.repeat(400)
  return `[[obs.alerts]]\nname = "alert-${index}"\nmetric = "process_uptime_seconds"\nabove = 0\nfor_secs = 0\nhint = "${hint}"\n`
})}
`
}

const vhosts = each(50, (group) => {
  const servers = each(30, (index) => `  server 127.0.0.1:${10_000 + 30 * group + index};\n`)
  return `upstream group-${group}-${'u'.repeat(40)} {\n${servers}}\n`
})
const proxied = each(50, (group) => `  location /${group}/ { proxy_pass http://group-${group}-${'u'.repeat(40)}; }\n`)

/** A server with as much of everything as a hostile visitor, and an operator of many things, can give it. */
export async function startLargeInstance(t: Cleanup): Promise<Server & { readonly url: string; readonly password: string }> {
  const dir = tempDir(t, 'panel-large')
  mkdirSync(join(dir, 'tls'), { mode: 0o700 })
  writeFiles(join(dir, 'large'), files)
  writeFiles(join(dir, 'vhosts'), {
    'many.conf': `${vhosts}server {\n  listen 127.0.0.1:0;\n  server_name many.localhost;\n${proxied}}\n`,
  })
  const server = await startServer(t, { config: await configOf(dir) })
  const url = server.ready.listen.find((address) => address.startsWith('http:')) ?? server.url
  await fill(url)
  return { ...server, url, password: PASSWORD }
}

/** Fills logs, caches, recorded requests, matches of the firewall, sessions and the audit log. */
async function fill(url: string): Promise<void> {
  const get = (path: string) => fetchHttp(url + path, { host: 'large.localhost' })
  const all = (count: number, run: (index: number) => Promise<unknown>) =>
    Promise.all(Array.from({ length: count }, (_, index) => run(index)))
  for (let round = 0; round < 4; round++) {
    await all(10, (index) => get(`/tagged/${long(10 * round + index, 200)}`))
    await all(10, (index) => get(`/lines?${10 * round + index}`))
    await all(30, (index) => get(`/broken/${long(30 * round + index, 480)}`))
    await all(40, (index) => get(`/waf/${long(40 * round + index, 4_000)}`))
  }
  const body = (value: object) => ({ method: 'POST', body: JSON.stringify(value) })
  const login = await fetchHttp(`${url}/__svc/admin/api/login`, {
    ...body({ username: 'alice', password: PASSWORD }),
    headers: JSON_BODY,
  })
  const authorization = `Bearer ${JSON.parse(login.text).token}`
  for (let round = 0; round < 10; round++) {
    await all(20, () => {
      const headers = { ...JSON_BODY, authorization, 'user-agent': 'a'.repeat(500) }
      return fetchHttp(`${url}/__svc/admin/api/tokens`, { ...body({ username: 'alice', ttl_secs: 3_600 }), headers })
    })
    await all(20, (index) => {
      const target = `${url}/__svc/admin/api/tasks/${'%22'.repeat(300)}${round}-${index}/run`
      return fetchHttp(target, { method: 'POST', headers: { authorization } })
    })
  }
}
