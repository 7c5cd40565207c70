import { endpoint } from '../../../contract/endpoint.ts'

/** Sends what forms and buttons name, and shows the answer. */
const script = `'use strict'
const result = document.querySelector('[data-result]')

async function call(method, url, body) {
  const headers = { 'content-type': 'application/json', 'x-svc-request': '1' }
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) })
  const json = await answer.json()
  if (answer.ok) return json
  throw new Error(json.detail || json.title)
}

function show(text) {
  result.textContent = text
  result.scrollIntoView({ block: 'nearest' })
}

document.addEventListener('submit', (event) => {
  const form = event.target
  if (!form.matches('[data-login]')) return
  event.preventDefault()
  show('Checking the password...')
  call('POST', '/__svc/admin/api/login', Object.fromEntries(new FormData(form))).then(
    () => location.assign('/__svc/admin'),
    (error) => show(error.message),
  )
})

document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-url]')
  if (!button) return
  const { method, url, body, ask, next } = button.dataset
  if (ask && !confirm(ask)) return
  button.disabled = true
  show('Working...')
  call(method, url, JSON.parse(body || '{}'))
    .then(
      (json) => (next ? location.assign(next) : show(button.textContent + ': done\\n' + JSON.stringify(json, null, 2))),
      (error) => show(button.textContent + ': ' + error.message),
    )
    .finally(() => (button.disabled = false))
})
`

export const panelScript = endpoint({
  method: 'GET',
  path: '/__svc/admin/assets/panel.js',
  group: 'admin',
  access: 'open',
  isPage: true,
  summary: 'Script of the pages.',
  handle: () => ({ status: 200, contentType: 'text/javascript; charset=utf-8', body: script }),
})
