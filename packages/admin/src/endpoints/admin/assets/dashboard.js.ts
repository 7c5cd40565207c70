import { endpoint } from '../../../contract/endpoint.ts'
import { liveSections } from './live-sections.ts'

/**
 * Shows the figures of the dashboard: the summary as the server sends it, and the rest fetched when that has changed or some time has
 * passed. Text goes into text nodes alone: nothing in it is markup.
 */
const script = `'use strict'
const DETAILS_MS = 15000
const SITES_MS = 60000
const MAX_SITES = 20
const SVG = 'http://www.w3.org/2000/svg'
const find = (selector) => document.querySelector(selector)
const choice = find('[data-choice]')
const pause = find('[data-pause]')
let sitesAt = 0
let detailsAt = 0
let turn = 0
let lastMark = ''
let source
let timer

async function load(path) {
  const answer = await fetch(path.startsWith('/') ? path : '/__svc/obs/' + path)
  if (answer.status === 401) location.assign('/__svc/admin/login')
  const json = await answer.json()
  if (answer.ok) return json
  throw new Error(json.detail || json.title)
}

function say(text) {
  const note = find('[data-note]')
  if (note.textContent !== text) note.textContent = text
}

function element(tag, attributes, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

function shape(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  made.append(...children)
  return made
}

function table(heads, rows) {
  const row = (cells, tag) => element('tr', {}, ...cells.map((cell, i) => (i === 0 ? element('th', tag, cell) : element('td', {}, cell))))
  const head = element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)))
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows.map((cells) => row(cells, { scope: 'row' }))))
}

const number = (value) => (value === null ? '-' : value.toLocaleString('en', { maximumFractionDigits: 2 }))
const percent = (value) => (value === null ? '-' : number(value * 100) + ' %')
const millis = (value) => (value === null ? '-' : number(value) + ' ms')
const time = (text) => element('time', { datetime: text }, new Date(text).toLocaleString())
const word = (text, kind) => element('span', { class: kind }, text)

const states = ({ total, states: counts }) =>
  Object.keys(counts).length === 1 ? total + ' ' + Object.keys(counts)[0] : Object.entries(counts).map(([name, count]) => count + ' ' + name).join(', ') || '0'

function showNow({ traffic, sites, instance, uptime_secs: uptime, version, generation }) {
  const hits = traffic.hit_ratio
  const mebibytes = (bytes) => number(bytes / 1048576) + ' MiB'
  const list = [
    ['Requests per second', number(traffic.requests_per_sec.last_10_secs)],
    ['Status 5xx, last minute', percent(traffic.error_ratio)],
    ['p95, last minute', millis(traffic.p95_ms)],
    ['Hits of L0, ISR, proxy cache', hits === null ? '-' : [hits.l0, hits.isr, hits.proxy].map(percent).join(', ')],
    ['Sites', states(sites)],
    ['Up', number(uptime / 3600) + ' h (' + version + ', generation ' + generation + ')'],
  ]
  if (instance) {
    const { workers, hosts, memory, disks, last_reload: reload } = instance
    list.push(['Workers', states(workers)], ['Render hosts', states(hosts)])
    list.push(['Memory', mebibytes(memory.resident_bytes) + ', ' + mebibytes(memory.available_bytes) + ' free'])
    for (const { path, free_ratio: free } of disks) list.push(['Free at ' + path, percent(free)])
    if (reload) list.push(['Last reload', (reload.ok ? 'ok, ' : 'failed, ') + new Date(reload.at).toLocaleString()])
  }
  find('[data-now]').replaceChildren(figures(list))
}

function showAlerts({ alerts }) {
  const active = alerts.filter(({ state }) => state !== 'ok')
  const firing = active.filter(({ state }) => state === 'firing').length
  const rows = active.map(({ name, state, site, subject, value, unit, since, hint }) => [
    word(state, state),
    name,
    [site, subject].filter(Boolean).join(': '),
    number(value) + (unit ? ' ' + unit : ''),
    time(since),
    hint,
  ])
  const heads = ['State', 'Alert', 'About', 'Value', 'Since', 'Advice']
  const calm = element('p', {}, alerts.length - active.length + ' alerts are ok.')
  find('[data-alerts]').replaceChildren(...(rows.length > 0 ? [table(heads, rows)] : []), calm)
  say(firing === 0 ? 'No alert fires.' : firing + (firing === 1 ? ' alert fires.' : ' alerts fire.'))
}

function sums(buckets) {
  const total = { requests: 0, failed: 0, bytes: 0, hits: 0 }
  for (const { requests, status, bytes, hits } of buckets) {
    total.requests += requests
    total.failed += status['5xx'] || 0
    total.bytes += bytes
    total.hits += hits.l0 + hits.isr + hits.proxy
  }
  return total
}

const WIDTH = 600

function bars(buckets, height) {
  const most = Math.max(1, ...buckets.map(({ requests }) => requests))
  const step = WIDTH / Math.max(1, buckets.length)
  const bar = (value, i, kind) =>
    shape('rect', { class: kind, x: i * step, width: Math.max(1, step - 1), y: height * (1 - value / most), height: height * (value / most) })
  return buckets.flatMap(({ requests, status }, i) => [bar(requests, i, 'bar'), bar(status['5xx'] || 0, i, 'bad')])
}

function line(buckets, name, height, most) {
  const step = WIDTH / Math.max(1, buckets.length)
  const dashes = buckets.flatMap((bucket, i) =>
    bucket[name] === null ? [] : ['M' + i * step + ',' + height * (1 - bucket[name] / most) + 'h' + step],
  )
  return shape('path', { class: name, d: dashes.join('') })
}

function picture(label, height, ...shapes) {
  const size = { viewBox: '0 0 ' + WIDTH + ' ' + height, preserveAspectRatio: 'none', role: 'img', 'aria-label': label }
  return shape('svg', size, ...shapes)
}

function figures(list) {
  return element('dl', { class: 'figures' }, ...list.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))))
}

function showTraffic({ buckets, step_secs: step }) {
  const { requests, failed, bytes, hits } = sums(buckets)
  const last = buckets.findLast(({ p95_ms: p95 }) => p95 !== null) || { p50_ms: null, p95_ms: null, p99_ms: null }
  const slowest = Math.max(1, ...buckets.map(({ p99_ms: p99 }) => p99 || 0))
  const share = (part) => percent(requests === 0 ? null : part / requests)
  find('[data-traffic]').replaceChildren(
    figures([
      ['Requests', number(requests)],
      ['Status 5xx', number(failed) + ' (' + share(failed) + ')'],
      ['From caches', share(hits)],
      ['Sent', number(bytes / 1048576) + ' MiB'],
      ['Latest p50', millis(last.p50_ms)],
      ['Latest p95', millis(last.p95_ms)],
      ['Latest p99', millis(last.p99_ms)],
    ]),
    element('h3', {}, 'Requests per ' + number(step / 60) + ' min, status 5xx marked'),
    picture(number(requests) + ' requests, ' + number(failed) + ' with status 5xx', 120, ...bars(buckets, 120)),
    element('h3', {}, 'Latency: p50, p95 and p99 up to ' + millis(slowest)),
    picture('Latest p95: ' + millis(last.p95_ms), 120, ...['p50_ms', 'p95_ms', 'p99_ms'].map((name) => line(buckets, name, 120, slowest))),
  )
}

function showSlos({ slos }) {
  const rows = slos.map((slo) => [
    slo.name,
    slo.site || 'all sites',
    slo.kind === 'latency' ? 'within ' + slo.threshold_ms + ' ms' : 'no 5xx',
    percent(slo.objective) + ' in ' + slo.window_days + ' d',
    percent(slo.ratio),
    word(percent(slo.budget_left), slo.budget_left < 0 ? 'firing' : ''),
    element('ul', {}, ...slo.burn_rates.map((rate) => element('li', {}, word(burn(rate), rate.is_burning ? 'firing' : '')))),
  ])
  const heads = ['Objective', 'Site', 'Good request', 'Target', 'Reached', 'Budget left', 'Burn rates']
  const none = element('p', {}, 'There are no objectives. [[obs.slos]] of the configuration adds some.')
  find('[data-slos]').replaceChildren(rows.length > 0 ? table(heads, rows) : none)
}

function burn(rate) {
  const pair = rate.long_window + ': ' + number(rate.long_rate) + ', ' + rate.short_window + ': ' + number(rate.short_rate)
  return pair + (rate.is_burning ? ' - over ' : ' of ') + number(rate.threshold)
}

async function showSites() {
  const ids = Array.from(choice.site.options, ({ value }) => value).filter(Boolean)
  const rows = []
  for (const id of ids.slice(0, MAX_SITES)) {
    const { buckets } = await load('analytics?site=' + encodeURIComponent(id) + '&window=' + choice.window.value)
    const { requests, failed } = sums(buckets)
    const last = buckets.findLast(({ p95_ms: p95 }) => p95 !== null)
    const chart = picture(number(requests) + ' requests of ' + id, 40, ...bars(buckets, 40))
    rows.push([id, number(requests), percent(requests === 0 ? null : failed / requests), millis(last ? last.p95_ms : null), chart])
  }
  const heads = ['Site', 'Requests', 'Status 5xx', 'Latest p95', 'Requests over time']
  const more = element('p', {}, 'The first ' + MAX_SITES + ' of ' + ids.length + ' sites. The choice above has all.')
  find('[data-sites]').replaceChildren(table(heads, rows), ...(ids.length > MAX_SITES ? [more] : []))
}

async function showDetails() {
  turn += 1
  const own = turn
  detailsAt = Date.now()
  const site = choice.site.value === '' ? '' : 'site=' + encodeURIComponent(choice.site.value) + '&'
  const paths = ['alerts', 'slos', 'analytics?' + site + 'window=' + choice.window.value]
  const [alerts, slos, traffic] = await Promise.all(paths.map(load))
  // The choice has changed meanwhile: the figures of another turn are on their way.
  if (own !== turn) return
  showAlerts(alerts)
  showSlos(slos)
  showTraffic(traffic)
  await showFlows()
  if (Date.now() - sitesAt >= SITES_MS) {
    sitesAt = Date.now()
    await showSites()
  }
}

function refreshDetails() {
  showDetails().catch((error) => say('The figures could not be loaded: ' + error.message))
}

function showSummary(now) {
  showNow(now)
  find('[data-updated]').textContent = 'Updated ' + new Date().toLocaleTimeString()
  const mark = JSON.stringify([now.alerts, now.generation])
  if (mark === lastMark && Date.now() - detailsAt < DETAILS_MS) return
  lastMark = mark
  refreshDetails()
}

function disconnect() {
  clearTimeout(timer)
  if (source) source.close()
  source = undefined
}

/** Sends a request of its own: after the end of the session it leads to the login. */
async function withoutStream() {
  try {
    showSummary(await load('summary'))
  } catch (error) {
    say('The figures could not be loaded: ' + error.message)
  }
}

/** A browser connects again by itself after an interruption, but not after a refusal, such as too many streams. */
function connect() {
  disconnect()
  if (document.hidden || pause.getAttribute('aria-pressed') === 'true') return
  const own = new EventSource('/__svc/obs/summary?stream=1')
  source = own
  own.onmessage = ({ data }) => showSummary(JSON.parse(data))
  own.onerror = () => {
    if (own !== source || own.readyState !== EventSource.CLOSED) return
    disconnect()
    withoutStream()
    timer = setTimeout(connect, DETAILS_MS)
  }
}

choice.addEventListener('change', () => {
  sitesAt = 0
  refreshDetails()
})
choice.addEventListener('submit', (event) => event.preventDefault())
pause.addEventListener('click', () => {
  pause.setAttribute('aria-pressed', pause.getAttribute('aria-pressed') === 'false' ? 'true' : 'false')
  connect()
})
document.addEventListener('visibilitychange', connect)
`

export const dashboardScript = endpoint({
  method: 'GET',
  path: '/__svc/admin/assets/dashboard.js',
  group: 'admin',
  access: 'open',
  isPage: true,
  summary: 'Script of the dashboard.',
  handle: () => ({ status: 200, contentType: 'text/javascript; charset=utf-8', body: `${script}${liveSections}connect()\n` }),
})
