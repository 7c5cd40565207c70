import { endpoint } from '../../../contract/endpoint.ts'

const sheet = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; }
header { display: flex; flex-wrap: wrap; gap: 1rem; align-items: baseline; }
header form { margin-inline-start: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8886; padding: 0.3rem 0.6rem; text-align: start; vertical-align: top; }
.scroll { overflow-x: auto; }
button, input { font: inherit; padding: 0.3rem 0.8rem; }
dl { display: grid; gap: 0 1rem; grid-template-columns: max-content 1fr; }
dd { margin: 0; }
[data-result]:empty { display: none; }
[data-result] { border: 1px solid; padding: 0.5rem; white-space: pre-wrap; }
`

export const panelStyle = endpoint({
  method: 'GET',
  path: '/__svc/admin/assets/panel.css',
  group: 'admin',
  access: 'open',
  isPage: true,
  summary: 'Style sheet of the pages.',
  handle: () => ({ status: 200, contentType: 'text/css; charset=utf-8', body: sheet }),
})
