import { endpoint } from '../../../contract/endpoint.ts'
import { AdminError } from '../../../errors/errors.ts'
import { panelFiles } from '../../../panel/panel-page.ts'

export const panelAsset = endpoint({
  method: 'GET',
  path: '/__svc/admin/assets/:file',
  group: 'admin',
  access: 'open',
  isPage: true,
  summary: 'A script, style sheet or icon of the panel.',
  handle(_plane, { params: { file: name = '' } }) {
    const file = panelFiles().find(name)
    if (file === undefined) throw new AdminError('UNKNOWN_ASSET', { name })
    return { file }
  },
})
