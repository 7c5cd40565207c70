import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadedCertificate } from '@svc/config'
import { codeOf } from '@svc/core'
import type { CertificateSpec } from '@svc/protocol'

const PRIVATE_FILE = 0o600
const PRIVATE_DIRECTORY = 0o700
const OURS = /^([0-9a-f]{32})\.(?:crt|key)(?:\.[0-9a-f]+\.tmp)?$/

/** Writes a file so that it is there whole or not at all, for its owner alone. One that says the same already stays. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const known = await readFile(path, 'utf8').catch(() => undefined)
  if (known === text) return
  const temporary = `${path}.${randomBytes(4).toString('hex')}.tmp`
  try {
    await writeFile(temporary, text, { mode: PRIVATE_FILE, flush: true })
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw error
  }
}

/**
 * Copies of certificates under names made of their content. What a worker opens is what was checked, whatever becomes of the files
 * of the configuration.
 */
export class CertificateCopies {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Writes copies where there are none. */
  async write(certificates: readonly LoadedCertificate[]): Promise<CertificateSpec[]> {
    if (certificates.length > 0) await mkdir(this.#directory, { recursive: true, mode: PRIVATE_DIRECTORY })
    const specs: CertificateSpec[] = []
    for (const { id, chainPem, keyPem } of certificates) {
      const certFile = join(this.#directory, `${id}.crt`)
      const keyFile = join(this.#directory, `${id}.key`)
      await writePrivate(certFile, chainPem)
      await writePrivate(keyFile, keyPem)
      specs.push({ id, certFile, keyFile })
    }
    return specs
  }

  /** Removes all copies but those of these ids. */
  async prune(kept: ReadonlySet<string>): Promise<void> {
    const names = await readdir(this.#directory).catch((error) => {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    })
    for (const name of names) {
      const id = OURS.exec(name)?.[1]
      if (id !== undefined && !kept.has(id)) await unlink(join(this.#directory, name))
    }
  }
}
