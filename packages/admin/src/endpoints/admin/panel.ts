import type { Caller } from '@svc/auth'
import { PRODUCT_VERSION } from '@svc/protocol'
import type { ControlPlane } from '../../contract/control-plane.ts'
import { endpoint } from '../../contract/endpoint.ts'
import { type Html, html, pageAnswer } from '../../contract/page.ts'
import { siteFacts } from '../site-facts.ts'

/** An operation that a button sends. */
interface Action {
  readonly label: string
  readonly url: string
  readonly method?: 'POST' | 'PUT'
  readonly body?: unknown
  /** Question before it is sent. */
  readonly ask?: string
  /** The page to show afterwards; undefined: the answer is shown. */
  readonly next?: string
}

const API = '/__svc/admin/api'

function button({ label, url, method = 'POST', body = {}, ask = '', next = '' }: Action): Html {
  return html`<button data-method="${method}" data-url="${url}" data-body="${JSON.stringify(body)}" data-ask="${ask}" data-next="${next}">${label}</button> `
}

function siteActions(id: string, label: string, state: string): Html[] {
  const path = `${API}/sites/${encodeURIComponent(id)}`
  const pattern = encodeURIComponent(`route:${label}:*`)
  const isOpen = state !== 'maintenance'
  return [
    { label: 'Purge pages', url: `${API}/cache/purge?pattern=${pattern}`, ask: `Drop all rendered pages of ${id}?` },
    { label: 'Flush isolates', url: `${path}/flush`, ask: `Give ${id} fresh isolates and empty caches?` },
    {
      label: isOpen ? 'Maintenance on' : 'Maintenance off',
      url: `${path}/maintenance`,
      method: 'PUT' as const,
      body: { enabled: isOpen },
      ask: isOpen ? `Answer every request to ${id} with 503?` : `Let ${id} serve again?`,
      next: '/__svc/admin',
    },
  ].map(button)
}

async function siteTable(plane: ControlPlane, mayChange: boolean): Promise<Html> {
  const facts = await siteFacts(plane, plane.sites.list())
  const rows = facts.map(({ id, label, hostnames, state, process }) => {
    const actions = mayChange ? siteActions(String(id), String(label), String(state)) : []
    const names = (hostnames as readonly string[]).join(', ')
    return html`<tr><th scope="row">${id}</th><td>${names}</td><td>${state}</td><td>${process}</td><td>${actions}</td></tr>
`
  })
  return html`<h2>Sites</h2>
<div class="scroll"><table>
<thead><tr><th>Id</th><th>Host names</th><th>State</th><th>Process</th><th></th></tr></thead>
<tbody>
${rows}</tbody>
</table></div>`
}

async function serverSection(plane: ControlPlane): Promise<Html> {
  const { status, uptime_secs: uptime, checks } = await plane.health()
  const lines = Object.entries(checks).map(([name, state]) => html`<dt>${name}</dt><dd>${state}</dd>`)
  return html`<h2>Server</h2>
<dl><dt>Status</dt><dd>${status}</dd><dt>Version</dt><dd>${PRODUCT_VERSION}</dd><dt>Generation</dt><dd>${plane.sites.generation()}</dd>
<dt>Uptime</dt><dd>${uptime} s</dd>${lines}</dl>`
}

function serverActions(): Html {
  return html`<p>${[
    button({ label: 'Reload the configuration', url: `${API}/reload`, ask: 'Read the configuration again?' }),
    button({
      label: 'Restart render workers',
      url: `${API}/workers/restart`,
      ask: 'Replace all render workers, one after another?',
    }),
    button({ label: 'Purge L0', url: `${API}/cache/purge-l0`, ask: 'Drop all responses from the memory of the workers?' }),
  ]}</p>`
}

function nameOf(caller: Caller): string {
  return caller.kind === 'user' ? `${caller.user.username} (${caller.user.role})` : ''
}

export const panel = endpoint({
  method: 'GET',
  path: '/__svc/admin',
  group: 'admin',
  access: 'viewer',
  isPage: true,
  summary: 'Page with the state of the server and the sites.',
  async handle(plane, { caller }) {
    const role = caller.kind === 'user' ? caller.user.role : 'viewer'
    const sites = await siteTable(plane, role !== 'viewer')
    const server = await serverSection(plane)
    return pageAnswer(
      'Overview',
      html`<header><h1>svc</h1><span>${nameOf(caller)}</span><a href="/__svc/obs/dashboard">Dashboard</a>${button({ label: 'Log out', url: `${API}/logout`, next: '/__svc/admin/login' })}</header>
<main>
<p role="status" data-result></p>
${sites}
${server}
${role === 'super_admin' ? serverActions() : ''}
</main>`,
    )
  },
})
