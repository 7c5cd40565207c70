import { endpoint } from '../../contract/endpoint.ts'
import { pageQuery, panelPage, scriptsOf } from '../../panel/panel-page.ts'

export const dashboard = endpoint({
  method: 'GET',
  path: '/__svc/obs/dashboard',
  group: 'obs',
  access: 'viewer',
  isPage: true,
  summary: 'Page for a wall: health, traffic and alerts, live.',
  query: pageQuery,
  handle: (_plane, { caller }) => panelPage(caller, scriptsOf('/__svc/obs/dashboard')),
})
