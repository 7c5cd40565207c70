import { endpoint } from '../../contract/endpoint.ts'
import { pageQuery, panelPage, scriptsOf } from '../../panel/panel-page.ts'

export const loginPage = endpoint({
  method: 'GET',
  path: '/__svc/admin/login',
  group: 'admin',
  access: 'open',
  isPage: true,
  summary: 'Page to log in; goes on to the page that `next` names.',
  query: pageQuery,
  handle(_plane, { caller, query: { next } }) {
    // The scripts of the page that a login leads to come while the user types.
    const path = String(next ?? '').replace(/[?#].*$/s, '')
    return panelPage(caller, scriptsOf(path) ?? scriptsOf('/__svc/admin'))
  },
})
