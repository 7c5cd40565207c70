import { endpoint } from '../../contract/endpoint.ts'
import { AdminError } from '../../errors/errors.ts'
import { pageQuery, panelPage, scriptsOf } from '../../panel/panel-page.ts'

export const panelSubpage = endpoint({
  method: 'GET',
  path: '/__svc/admin/:page',
  group: 'admin',
  access: 'viewer',
  isPage: true,
  summary: 'Panel: one of its other pages, whose state is in the query.',
  query: pageQuery,
  handle(_plane, { caller, params: { page = '' } }) {
    const scripts = scriptsOf(`/__svc/admin/${page}`)
    if (scripts === undefined) throw new AdminError('UNKNOWN_PAGE', { page })
    return panelPage(caller, scripts)
  },
})
