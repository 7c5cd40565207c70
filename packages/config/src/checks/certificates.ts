import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { codeOf, messageOf } from '@svc/core'
import type { Finding } from '../problem.ts'
import type { KeyPath } from '../source/key-path.ts'
import type { Config } from '../types.ts'

interface Pair {
  readonly cert: string
  readonly key: string
  readonly certPath: KeyPath
  readonly keyPath: KeyPath
}

function pairsOf({ tls, sites }: Config): Pair[] {
  const global = tls.certs.map(({ cert, key }, index) => ({
    cert,
    key,
    certPath: ['tls', 'certs', index, 'cert'],
    keyPath: ['tls', 'certs', index, 'key'],
  }))
  const own = sites.flatMap((site, index) => {
    const { tls_cert: cert, tls_key: key } = site
    if (cert === undefined || key === undefined) return []
    return [{ cert, key, certPath: ['sites', index, 'tls_cert'], keyPath: ['sites', index, 'tls_key'] }]
  })
  return [...global, ...own]
}

async function readPem<T>(file: string, path: KeyPath, what: string, parse: (pem: Buffer) => T): Promise<T | Finding> {
  let pem: Buffer
  try {
    pem = await readFile(file)
  } catch (error) {
    return { path, message: `cannot read ${file}`, hint: codeOf(error) ?? messageOf(error) }
  }
  try {
    return parse(pem)
  } catch (error) {
    return { path, message: `${file} is not a ${what} in PEM form`, hint: messageOf(error) }
  }
}

function isFinding(value: object): value is Finding {
  return 'path' in value && 'message' in value
}

async function checkPair(pair: Pair): Promise<Finding[]> {
  const cert = await readPem(pair.cert, pair.certPath, 'certificate', (pem) => new X509Certificate(pem))
  const key = await readPem(pair.key, pair.keyPath, 'private key', (pem) => createPrivateKey(pem))
  const findings = [cert, key].filter(isFinding)
  if (isFinding(cert) || isFinding(key)) return findings
  return cert.checkPrivateKey(key) ? [] : [{ path: pair.keyPath, message: `${pair.key} is not the key of ${pair.cert}` }]
}

/** Files of certificates and keys that the configuration names. */
export function certificateFiles(config: Config): string[] {
  return pairsOf(config).flatMap(({ cert, key }) => [cert, key])
}

/** Checks that every certificate and key can be read, is one, and that they belong together. */
export async function checkCertificates(config: Config): Promise<Finding[]> {
  return (await Promise.all(pairsOf(config).map(checkPair))).flat()
}
