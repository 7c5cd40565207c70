import { X509Certificate } from 'node:crypto'
import type { ClientCheck, WebSpec } from '@svc/config'
import { messageOf, readBounded } from '@svc/core'
import type { ClientAuthorities } from '@svc/http'
import { SupervisorError } from '@svc/processes'

/** All authorities of a system have a few hundred kilobytes. */
const MAX_FILE_BYTES = 4 * 1024 * 1024
const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]+?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g
const LIST = '-----BEGIN X509 CRL-----'

/**
 * Reads the files that verify the clients of servers.
 * @throws SUP_BAD_AUTHORITIES, so that no server comes into service without them
 */
export async function readAuthorities({ servers }: WebSpec): Promise<ReadonlyMap<ClientCheck, ClientAuthorities>> {
  const texts = new Map<string, Promise<string>>()
  const read = (path: string) => {
    const known = texts.get(path) ?? textOf(path)
    texts.set(path, known)
    return known
  }
  const found = new Map<ClientCheck, ClientAuthorities>()
  for (const { clientCheck } of servers) {
    if (clientCheck === undefined || found.has(clientCheck)) continue
    const authorities: string[] = []
    for (const path of clientCheck.authorities) authorities.push(...certificatesIn(path, await read(path)))
    const crl = clientCheck.crl === undefined ? undefined : listsIn(clientCheck.crl, await read(clientCheck.crl))
    found.set(clientCheck, { authorities: authorities.join('\n'), crl, depth: clientCheck.depth })
  }
  return found
}

async function textOf(path: string): Promise<string> {
  const file = await readBounded(path, MAX_FILE_BYTES)
  if (file.ok) return file.bytes.toString('latin1')
  throw new SupervisorError('SUP_BAD_AUTHORITIES', { path, reason: file.why })
}

function certificatesIn(path: string, text: string): string[] {
  const pems = text.match(CERTIFICATE) ?? []
  try {
    for (const pem of pems) new X509Certificate(pem)
  } catch (error) {
    throw new SupervisorError('SUP_BAD_AUTHORITIES', { path, reason: messageOf(error) })
  }
  if (pems.length === 0) throw new SupervisorError('SUP_BAD_AUTHORITIES', { path, reason: 'it has no certificate in PEM form' })
  return pems
}

function listsIn(path: string, text: string): string {
  if (text.includes(LIST)) return text
  throw new SupervisorError('SUP_BAD_AUTHORITIES', { path, reason: 'it has no list of revoked certificates in PEM form' })
}
