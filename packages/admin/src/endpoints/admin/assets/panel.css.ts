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
h3 { font-size: 1rem; font-weight: normal; margin: 0.5rem 0 0; }
form[data-choice], form[data-log-choice] { display: flex; flex-wrap: wrap; gap: 1rem; }
select { font: inherit; padding: 0.3rem; }
ul { list-style: none; margin: 0; padding: 0; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.figures dt { font-size: 0.875rem; }
.figures dd { font-size: 1.25rem; }
.firing { color: light-dark(#a4001d, #ff9a8f); font-weight: bold; }
.pending { color: light-dark(#6b4b00, #ffd479); font-weight: bold; }
svg { display: block; height: 7.5rem; width: 100%; }
td svg { height: 2.5rem; min-width: 10rem; }
svg .bar { fill: light-dark(#3566a8, #7fb0f0); }
svg .bad { fill: light-dark(#c00022, #ff7a6b); }
svg path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
svg path.p50_ms { stroke: light-dark(#3566a8, #7fb0f0); }
svg path.p95_ms { stroke: light-dark(#8a5a00, #ffc14d); }
svg path.p99_ms { stroke: light-dark(#c00022, #ff7a6b); }
[data-log] { font: 0.875rem/1.4 ui-monospace, monospace; max-height: 20rem; overflow: auto; }
summary { overflow-wrap: anywhere; padding: 0.2rem 0; }
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
