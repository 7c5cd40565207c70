import { inertKeysIn } from '../schema/inert-keys.ts'
import type { SchemaNode } from '../schema/schema-tree.ts'
import type { Config } from '../schema/types.ts'
import type { ListenName } from './listen-names.ts'

/** What keeps automatic certificates from coming. */
export function proofNotices({ tls }: Config, listen: readonly ListenName[]): string[] {
  if (!tls.auto || listen.some(({ isTls }) => !isTls)) return []
  return ['tls.auto is set and no address speaks plain HTTP: hosts are proved over it (set server.listen)']
}

/** Says in plain lines what is not wrong but worth knowing. */
export function noticesOf(root: SchemaNode, data: unknown, config: Config): string[] {
  const notices: string[] = []
  const inert = inertKeysIn(root, data)
  if (inert.length > 0) notices.push(`these keys have no effect yet in this version: ${inert.join(', ')}`)
  if (config.server.trusted_proxies.length > 0 && config.server.engine === 'uws') {
    notices.push('server.trusted_proxies is set: engine "node" is recommended behind a proxy, its parser is the stricter one')
  }
  return notices
}
