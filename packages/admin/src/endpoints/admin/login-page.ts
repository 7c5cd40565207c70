import { endpoint } from '../../contract/endpoint.ts'
import { pageQuery, panelPage } from '../../panel/panel-page.ts'

export const loginPage = endpoint({
  method: 'GET',
  path: '/__svc/admin/login',
  group: 'admin',
  access: 'open',
  isPage: true,
  summary: 'Page to log in; goes on to the page that `next` names.',
  query: pageQuery,
  handle: (_plane, { caller }) => panelPage(caller),
})
