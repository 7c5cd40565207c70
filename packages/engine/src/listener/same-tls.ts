import { isDeepStrictEqual } from 'node:util'
import type { ListenerTls } from '@svc/http'

/** Whether clients are served in the same way, wherever the files of the certificates are named by now. */
export function isSameTls(one: ListenerTls | undefined, other: ListenerTls): boolean {
  return one !== undefined && isDeepStrictEqual(served(one), served(other))
}

function served({ certificates, ...rest }: ListenerTls) {
  return { ids: certificates.map(({ id }) => id), ...rest }
}
