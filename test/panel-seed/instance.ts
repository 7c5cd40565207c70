import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Cleanup, fetchHttp, type Server, startServer, tempDir, writeCertificate, writeFiles } from '@svc/testkit'
import { hashPassword } from '../../packages/auth/src/index.ts'
import { writeAudit, writeTraffic } from './history.ts'

const PASSWORD = 'correct horse'
const DAY_MS = 86_400_000
const products = ['lamp', 'chair', 'table', 'sofa', 'shelf', 'vase', 'rug', 'clock', 'mirror', 'bench']

const layout = `export const metadata = { title: 'Shop' }
export default function Layout({ children }) { return <html lang="en"><body>{children}</body></html> }
`
/** The pages of the shop. `version` shows on its front page. */
const shopFiles = (backend: string, version: number): Record<string, string> => ({
  'app/layout.tsx': layout,
  'app/page.tsx': `export const revalidate = 300
export default function Page() { return <h1>Shop, version ${version}</h1> }
`,
  'app/products/[name]/page.tsx': `export const revalidate = 3600
export default async function Page({ params }) {
  const { name } = await params
  const answer = await fetch('${backend}/stock/' + name, { next: { tags: ['products', 'product-' + name] } })
  return <h1>{name}: {await answer.text()}</h1>
}
`,
  'app/search/page.tsx': `export default async function Page({ searchParams }) {
  const { q = '' } = await searchParams
  const answer = await fetch('${backend}/slow', { cache: 'no-store' })
  return <h1>{q}: {await answer.text()}</h1>
}
`,
  'app/checkout/page.tsx': `export const dynamic = 'force-dynamic'
export default function Page() { throw new Error('the payment service does not answer') }
`,
  'public/robots.txt': 'User-agent: *\n',
})

const blogFiles: Record<string, string> = {
  'app/layout.tsx': layout.replace('Shop', 'Blog'),
  'app/page.tsx': 'export default function Page() { return <h1>Blog</h1> }\n',
  'app/posts/[slug]/page.tsx':
    'export const revalidate = 600\nexport default async function Page({ params }) { return <h1>{(await params).slug}</h1> }\n',
  'app/feed.xml/route.ts': "export const dynamic = 'force-static'\nexport function GET() { return new Response('<rss/>') }\n",
}

const plugin = `export default {
  name: 'headers',
  version: '1.2.0',
  cacheable: true,
  hooks: { onResponse: () => ({ headers: { 'x-content-type-options': 'nosniff' } }) },
}
`

/** The service behind the shop: stock figures, one slow answer, and tasks that succeed or fail. */
async function startBackend(t: Cleanup): Promise<string> {
  const server = createServer((request, response) => {
    const answer = () =>
      response.writeHead(request.url === '/broken' ? 500 : 200, { 'cache-control': 'max-age=600' }).end('12 in stock')
    if (request.url === '/slow') setTimeout(answer, 1_200)
    else answer()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Places {
  readonly dir: string
  readonly backend: string
}

async function configOf({ dir, backend }: Places): Promise<string> {
  const hash = await hashPassword(PASSWORD)
  const user = (name: string, role: string) =>
    `[[admin.users]]\nusername = "${name}"\npassword_hash = "${hash}"\nrole = "${role}"\n`
  const at = (days: number) => ({ from: new Date(Date.now() - 60 * DAY_MS), to: new Date(Date.now() + days * DAY_MS) })
  const shop = writeCertificate(join(dir, 'tls'), 'shop', {
    commonName: 'shop',
    hosts: ['shop.example', 'www.shop.example'],
    validity: at(61),
  })
  const blog = writeCertificate(join(dir, 'tls'), 'blog', { commonName: 'blog', hosts: ['blog.example'], validity: at(9) })
  return `[server]
listen = "127.0.0.1:0"
listen_tls = "127.0.0.1:0"
workers = 2
vhosts = ["${dir}/vhosts/*.conf"]
[admin]
enabled = true
jwt_secret = "0123456789abcdef0123456789abcdef"
${user('alice', 'super_admin')}${user('vera', 'viewer')}${user('tom', 'tenant_admin')}tenant_id = "acme"
[deploy]
sources = ["${dir}/releases"]
[plugins]
directory = "${dir}/plugins"
[rate_limit]
enabled = true
requests_per_minute = 4000
[waf]
mode = "monitor"
[waf.packs]
traversal = "monitor"
scanner = "block"
[[waf.rules]]
id = "no-xmlrpc"
action = "block"
when = { path = "^/xmlrpc" }
[[tls.certs]]
cert = "${shop.cert}"
key = "${shop.key}"
[[tls.certs]]
cert = "${blog.cert}"
key = "${blog.key}"
[[sites]]
id = "shop"
hostnames = ["shop.localhost", "shop.example", "www.shop.example"]
root = "${dir}/shop"
tenant = "acme"
fetch_allow = ["${new URL(backend).host}"]
[[sites]]
id = "blog"
hostnames = ["blog.localhost", "blog.example"]
root = "${dir}/blog"
[[sites]]
id = "docs"
hostnames = ["docs.localhost"]
root = "${dir}/docs"
[[sites]]
id = "intranet"
hostnames = ["intranet.localhost"]
root = "${dir}/docs"
maintenance = true
[[tasks]]
name = "nightly-export"
schedule = "0 3 * * *"
handler = "http::GET /robots.txt"
host = "shop.localhost"
[[tasks]]
name = "refresh-stock"
schedule = "*/15 * * * *"
handler = "http::GET /checkout"
host = "shop.localhost"
[[route_rules]]
pattern = "/api/**"
host = "docs.localhost"
upstream = "${backend}"
[[obs.slos]]
name = "shop-available"
site = "shop"
kind = "availability"
objective = 0.999
window_days = 7
[[obs.slos]]
name = "shop-fast"
site = "shop"
kind = "latency"
objective = 0.95
threshold_ms = 250
window_days = 7
[[obs.alerts]]
name = "many-404"
metric = "http_requests_total"
labels = { status = "404" }
above = 500000
hint = "A scanner, or a broken link."
`
}

const vhostOf = (backend: string) => `upstream api {
  server ${new URL(backend).host};
  server 127.0.0.1:9 backup;
}
server {
  listen 127.0.0.1:0;
  server_name api.localhost;
  location / { proxy_pass http://api; }
}
`

/** Requests of visitors: pages, slow and failing ones, and probes of a scanner. */
export async function visit(url: string): Promise<void> {
  const get = (host: string, path: string) => fetchHttp(url + path, { host: `${host}.localhost` })
  for (const name of products) await get('shop', `/products/${name}`)
  for (let round = 0; round < 12; round++) {
    await Promise.all([get('shop', '/'), get('blog', '/'), get('blog', `/posts/post-${round % 4}`), get('docs', '/index.txt')])
  }
  await Promise.all([
    get('shop', '/checkout'),
    get('shop', '/search?q=lamp'),
    get('docs', '/api/stock'),
    get('blog', '/feed.xml'),
  ])
  await get('shop', '/robots.txt?file=../../../../etc/passwd')
  await fetchHttp(`${url}/xmlrpc.php`, { host: 'blog.localhost', method: 'POST' })
}

/** Runs a task as the operator alice does. */
async function runTask(url: string, name: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ username: 'alice', password: PASSWORD })
  const login = await fetchHttp(`${url}/__svc/admin/api/login`, { method: 'POST', headers, body })
  const { token } = JSON.parse(login.text)
  const own = { ...headers, authorization: `Bearer ${token}` }
  await fetchHttp(`${url}/__svc/admin/api/tasks/${name}/run`, { method: 'POST', headers: own })
}

/** A server after an eventful hour, for pictures of its panel and reviews of it. */
export async function startBusyInstance(t: Cleanup): Promise<Server & { readonly password: string }> {
  const dir = tempDir(t, 'panel-seed')
  const stateDir = join(dir, 'state')
  const backend = await startBackend(t)
  for (const place of ['state', 'tls']) mkdirSync(join(dir, place), { mode: 0o700 })
  const under = (place: string, files: Record<string, string>) => writeFiles(join(dir, place), files)
  under('shop', shopFiles(backend, 41))
  under('releases/shop-42', shopFiles(backend, 42))
  under('releases/shop-43', shopFiles(backend, 43))
  under('blog', blogFiles)
  under('docs', { 'public/index.txt': 'docs' })
  under('plugins', { '10-headers.mjs': plugin })
  under('vhosts', { 'api.conf': vhostOf(backend) })
  await writeTraffic(stateDir, Date.now())
  await writeAudit(stateDir, Date.now())
  const server = await startServer(t, { config: await configOf({ dir, backend }), env: { SVC_SERVER__STATE_DIR: stateDir } })
  const url = server.ready.listen.find((address) => address.startsWith('http:')) ?? server.url
  await visit(url)
  const send = (method: string, path: string, body: object) =>
    fetchHttp(`${url}/__svc/api/${path}`, {
      method,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  for (const name of ['shop-42', 'shop-43']) await send('POST', 'deploy', { site: 'shop', source: join(dir, 'releases', name) })
  await visit(url)
  for (const task of ['nightly-export', 'refresh-stock']) await runTask(url, task)
  return { ...server, url, password: PASSWORD }
}
