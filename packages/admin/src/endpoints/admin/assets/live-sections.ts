/**
 * The part of the script of the dashboard that shows recorded requests, each with a waterfall of its stages, and the log as it is
 * written. It uses the helpers of the part before it.
 */
export const liveSections = `
const MAX_FLOWS = 20
const MAX_LINES = 200
const BAR = 12
const flowList = find('[data-flows]')
const logChoice = find('[data-log-choice]')
const logList = find('[data-log]')
const follow = find('[data-follow]')
let logSource

function waterfall({ duration_ms: total, stages }) {
  const scale = WIDTH / Math.max(1, total)
  const label = stages.map(({ name, duration_ms: took }) => name + ' ' + millis(took)).join(', ')
  const bar = ({ start_ms: start, duration_ms: took }, i) =>
    shape('rect', { class: 'bar', x: start * scale, width: Math.max(2, took * scale), y: i * BAR + 2, height: BAR - 4 })
  return picture(label, BAR * Math.max(1, stages.length), ...stages.map(bar))
}

function flowDetails(flow, isOpen) {
  const title = flow.method + ' ' + flow.path + ': ' + flow.status + ' after ' + millis(flow.duration_ms) + ' (' + flow.reason + ')'
  const rows = flow.stages.map(({ name, start_ms: start, duration_ms: took, outcome }) => [name, millis(start), millis(took), outcome])
  const facts = element('p', {}, time(flow.at), ' ' + flow.site + ' ' + flow.request_id)
  const parts = [element('summary', {}, title), facts, waterfall(flow), table(['Stage', 'Begins', 'Takes', 'Outcome'], rows)]
  return element('details', { 'data-flow': flow.request_id, ...(isOpen ? { open: '' } : {}) }, ...parts)
}

async function showFlows() {
  const { flows } = await load('/__svc/admin/api/flows?limit=' + MAX_FLOWS)
  // Whoever is reading there keeps what they read.
  if (flowList.contains(document.activeElement)) return
  const open = new Set(Array.from(flowList.querySelectorAll('details[open]'), ({ dataset }) => dataset.flow))
  const none = element('p', {}, 'No request was slow, failed or taken as a sample so far.')
  flowList.replaceChildren(...(flows.length > 0 ? flows.map((flow) => flowDetails(flow, open.has(flow.request_id))) : [none]))
}

function addLine(text, kind) {
  const isAtEnd = logList.scrollHeight - logList.scrollTop - logList.clientHeight < 40
  logList.append(element('div', { class: kind }, text))
  while (logList.childElementCount > MAX_LINES) logList.firstElementChild.remove()
  if (isAtEnd) logList.scrollTop = logList.scrollHeight
}

function showLine({ time: at, level, site, proc, method, path, status, msg, err }) {
  const parts = [at && new Date(at).toLocaleTimeString(), level, site || proc, method, path, status, msg, err && err.message]
  addLine(parts.filter((part) => part !== undefined && part !== '').join(' '), level === 'error' || level === 'fatal' ? 'firing' : '')
}

function stopFollowing() {
  if (logSource) logSource.close()
  logSource = undefined
  follow.setAttribute('aria-pressed', 'false')
}

async function startFollowing() {
  stopFollowing()
  follow.setAttribute('aria-pressed', 'true')
  const query = '?level=' + logChoice.level.value + (logChoice.q.value === '' ? '' : '&q=' + encodeURIComponent(logChoice.q.value))
  const own = new EventSource('/__svc/obs/logs/stream' + query)
  logSource = own
  own.onmessage = ({ data }) => showLine(JSON.parse(data))
  own.addEventListener('dropped', ({ data }) => addLine(JSON.parse(data).count + ' lines are missing here: they came too fast.', 'pending'))
  own.onerror = () => {
    if (own !== logSource || own.readyState !== EventSource.CLOSED) return
    stopFollowing()
    addLine('The log is not followed any more: the server refused the stream.', 'pending')
  }
  const { lines } = await load('logs' + query + '&limit=50')
  logList.replaceChildren()
  lines.forEach(showLine)
}

function followLog() {
  startFollowing().catch((error) => addLine('The log could not be loaded: ' + error.message, 'firing'))
}

logChoice.addEventListener('submit', (event) => {
  event.preventDefault()
  followLog()
})
logChoice.level.addEventListener('change', () => logSource && followLog())
follow.addEventListener('click', () => (logSource ? stopFollowing() : followLog()))
`
