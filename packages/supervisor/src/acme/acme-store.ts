import { createHash } from 'node:crypto'
import { readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type LoadedCertificate, readCertificate } from '@svc/config'
import { codeOf, syncDirectory, targetOfPartial } from '@svc/core'
import { makePrivateDirectory } from '@svc/processes'
import { writePrivate } from '../tls/private-files.ts'

const ID_CHARS = 16
const OURS = /\.(?:pem|json)$/

/** An account with a certificate authority. */
interface AcmeAccount {
  readonly keyPem: string
  /** URL of the account at the authority; undefined: not registered yet. */
  readonly url?: string
  readonly email?: string | undefined
}

/** Outcome of the last tries for a host. */
export interface AcmeFailure {
  readonly failures: number
  /** Milliseconds since the epoch. */
  readonly retryAt: number
  readonly reason: string
}

function isFailure(value: unknown): value is AcmeFailure {
  const { failures, retryAt, reason } = (value ?? {}) as Partial<Record<keyof AcmeFailure, unknown>>
  return Number.isFinite(failures) && Number.isFinite(retryAt) && typeof reason === 'string'
}

function isAccount(value: unknown): value is AcmeAccount {
  const { keyPem, url, email } = (value ?? {}) as Partial<Record<keyof AcmeAccount, unknown>>
  return typeof keyPem === 'string' && [url, email].every((text) => text === undefined || typeof text === 'string')
}

/** Accounts and certificates on disk, separate for each authority. Files are written atomically and readable by their owner only. */
export class AcmeStore {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Deletes partial files of a killed process: they may contain a key. Must not run during a write. */
  async prune(): Promise<void> {
    for (const directory of await namesIn(this.#directory)) {
      for (const name of await namesIn(join(this.#directory, directory))) {
        if (OURS.test(targetOfPartial(name) ?? '')) await rm(join(this.#directory, directory, name), { force: true })
      }
    }
  }

  /** Returns the stored certificates of these hosts. Calls `unusable` for files that cannot be read. */
  async certificates(
    authority: string,
    hosts: readonly string[],
    unusable: (message: string) => void,
  ): Promise<Map<string, LoadedCertificate>> {
    const found = new Map<string, LoadedCertificate>()
    for (const host of hosts) {
      const file = this.#fileOf(authority, host)
      const read = await readCertificate({ cert: file, key: file })
      if (!Array.isArray(read)) found.set(host, read)
      else if (!read.every(({ isMissing }) => isMissing === true)) for (const { message } of read) unusable(message)
    }
    return found
  }

  async saveCertificate(authority: string, host: string, keyPem: string, chainPem: string): Promise<void> {
    await this.#write(authority, this.#fileOf(authority, host), `${keyPem.trim()}\n${chainPem.trim()}\n`)
  }

  async account(authority: string): Promise<AcmeAccount | undefined> {
    const noted = await this.#readJson(this.#pathOf(authority, 'account.json'))
    return isAccount(noted) ? noted : undefined
  }

  async saveAccount(authority: string, account: AcmeAccount): Promise<void> {
    await this.#write(authority, this.#pathOf(authority, 'account.json'), JSON.stringify(account))
  }

  /** For an account that the authority has deleted: the next order registers a new one. */
  async forgetAccount(authority: string): Promise<void> {
    await rm(this.#pathOf(authority, 'account.json'), { force: true })
  }

  /** By host. They survive restarts: a restart loop must not send orders in a loop. */
  async failures(authority: string): Promise<Readonly<Record<string, AcmeFailure>>> {
    const noted = (await this.#readJson(this.#pathOf(authority, 'failures.json'))) ?? {}
    return Object.fromEntries(Object.entries(noted).filter((entry): entry is [string, AcmeFailure] => isFailure(entry[1])))
  }

  async saveFailures(authority: string, failures: Readonly<Record<string, AcmeFailure>>): Promise<void> {
    await this.#write(authority, this.#pathOf(authority, 'failures.json'), JSON.stringify(failures))
  }

  #pathOf(authority: string, name: string): string {
    return join(this.#directory, createHash('sha256').update(authority).digest('hex').slice(0, ID_CHARS), name)
  }

  #fileOf(authority: string, host: string): string {
    return this.#pathOf(authority, `${host}.pem`)
  }

  async #write(authority: string, path: string, text: string): Promise<void> {
    await makePrivateDirectory(this.#directory)
    await makePrivateDirectory(this.#pathOf(authority, ''))
    await writePrivate(path, text)
    for (const directory of [this.#directory, dirname(this.#directory)]) await syncDirectory(directory)
  }

  /** A file that is no valid JSON counts as missing and is rewritten. */
  async #readJson(path: string): Promise<object | undefined> {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    }
    try {
      const value: unknown = JSON.parse(text)
      return typeof value === 'object' && value !== null ? value : undefined
    } catch {
      return undefined
    }
  }
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw error
  }
}
