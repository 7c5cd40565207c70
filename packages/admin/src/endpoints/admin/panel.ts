import { endpoint } from '../../contract/endpoint.ts'
import { pageQuery, panelPage, scriptsOf } from '../../panel/panel-page.ts'

export const panel = endpoint({
  method: 'GET',
  path: '/__svc/admin',
  group: 'admin',
  access: 'viewer',
  isPage: true,
  summary: 'Panel: the overview.',
  query: pageQuery,
  handle: (_plane, { caller }) => panelPage(caller, scriptsOf('/__svc/admin')),
})
