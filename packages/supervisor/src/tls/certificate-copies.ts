import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadedCertificate } from '@svc/config'
import { codeOf, targetOfPartial } from '@svc/core'
import { makePrivateDirectory } from '@svc/processes'
import type { CertificateSpec } from '@svc/protocol'
import { writePrivate } from './private-files.ts'

const OURS = /^([0-9a-f]{32})\.(?:crt|key)$/

/** A written copy of a certificate. */
type CertificateCopy = Omit<CertificateSpec, 'title'>

/**
 * Copies of certificates, named by a hash of their content. A worker opens exactly the content that was checked, even if the files
 * of the configuration change.
 */
export class CertificateCopies {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /**
   * Writes missing copies.
   * @throws SUP_DIRECTORY if their path is no directory, and errors of the file system
   */
  async write(certificates: readonly LoadedCertificate[]): Promise<CertificateCopy[]> {
    const copies: CertificateCopy[] = []
    for (const certificate of certificates) copies.push(await this.writeOne(certificate))
    return copies
  }

  /** Writes the copy of one certificate, if it is missing. Rejects as `write` does. */
  async writeOne({ id, chainPem, keyPem }: LoadedCertificate): Promise<CertificateCopy> {
    await makePrivateDirectory(this.#directory)
    const certFile = join(this.#directory, `${id}.crt`)
    const keyFile = join(this.#directory, `${id}.key`)
    await writePrivate(certFile, chainPem)
    await writePrivate(keyFile, keyPem)
    return { id, certFile, keyFile }
  }

  /** Deletes all copies except those of these ids, and partial files. Must not run while copies are written. */
  async prune(kept: ReadonlySet<string>): Promise<void> {
    const names = await readdir(this.#directory).catch((error) => {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    })
    for (const name of names) {
      const target = targetOfPartial(name)
      const id = OURS.exec(target ?? name)?.[1]
      const isNeeded = id === undefined || (target === undefined && kept.has(id))
      if (!isNeeded) await rm(join(this.#directory, name), { force: true })
    }
  }
}
