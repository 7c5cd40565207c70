import type { Dirent } from 'node:fs'
import { lstat, opendir, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { SiteConfig } from '@svc/config'
import { asError, codeOf, Gate, openPrivateDirectory } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { UploadEnd, UploadPlace, UploadStart } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { openIncoming } from './incoming.ts'

/** Most archives of a site, and most uploads in progress. */
const MAX_ARCHIVES = 5
/** Most uploads in progress of a user, for all sites. */
const MAX_OF_USER = 4
/** Most uploads in progress. */
const MAX_RUNNING = 16
/** Most bytes of a site's archives, and of its uploads in progress, in archives of the longest kind. */
const MAX_LONGEST = 2
/** A tenant may have put more than that into its directory. */
const MAX_ENTRIES = 10_000
/** The names that archives get. They sort by time. */
const ARCHIVE = /^\d{8}T\d{9}Z-[0-9a-f]{12}\.tar\.gz$/
const ID = /^[0-9a-f]{32}$/

/** The process that writes an upload: one connection to a worker. */
type UploadHolder = object

interface Upload {
  readonly holder: UploadHolder
  readonly site: SiteConfig
  readonly username: string
  /** Bytes that it may have at most. */
  readonly reserved: number
}

/** Dependencies of `Uploads`. */
interface UploadsOptions {
  readonly stateDir: string
  /** Most bytes of one archive. */
  readonly maxBytes: () => number
  /** @throws SUP_UNKNOWN_SITE, DEPLOY_UNSUPPORTED */
  readonly site: (id: string) => SiteConfig
  readonly now: () => number
  readonly logger: Logger
}

/**
 * Archives that clients upload. A worker writes one into a partial file in `<state_dir>/uploads`, where no tenant can write; a complete
 * one moves into the directory of its site below `<state_dir>/incoming`, and the oldest of the site are deleted past the bounds.
 */
export class Uploads {
  readonly #options: UploadsOptions
  readonly #directory: string
  readonly #running = new Map<string, Upload>()
  readonly #ended = new WeakSet<UploadHolder>()
  readonly #turn = new Gate(1)

  private constructor(options: UploadsOptions, directory: string) {
    this.#options = options
    this.#directory = directory
  }

  /** Deletes the partial files of an earlier process. */
  static async open(options: UploadsOptions): Promise<Uploads> {
    const directory = join(options.stateDir, 'uploads')
    const handle = await openPrivateDirectory(directory)
    await handle.close()
    for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true, force: true })
    return new Uploads(options, directory)
  }

  /**
   * Reserves room for an upload. The file to write does not exist yet.
   * @throws SUP_UNKNOWN_SITE, DEPLOY_UNSUPPORTED, UPLOADS_BUSY
   */
  begin(holder: UploadHolder, { id, site: siteId, username, bytes }: UploadStart): UploadPlace {
    const { maxBytes, site: siteOf } = this.#options
    const site = siteOf(siteId)
    if (!ID.test(id) || this.#running.has(id) || this.#ended.has(holder))
      throw new SupervisorError('SUP_STOPPED', 'the upload cannot begin: its process has ended')
    const upload: Upload = { holder, site, username, reserved: bytes ?? maxBytes() }
    const running = [...this.#running.values()]
    const scope = busyScope(upload, running, MAX_LONGEST * maxBytes())
    if (scope !== undefined) throw new SupervisorError('UPLOADS_BUSY', { scope })
    this.#running.set(id, upload)
    return { partial: this.#partial(id), reserved: bytesOf([upload, ...running]) }
  }

  /** Puts a complete file where releases can be deployed from, or deletes a partial one. @throws SOURCE_INVALID, UPLOAD_NO_SPACE */
  async end(holder: UploadHolder, { id, bytes }: UploadEnd): Promise<{ readonly file?: string }> {
    const upload = this.#running.get(id)
    if (upload === undefined || upload.holder !== holder) return {}
    try {
      return bytes === undefined ? {} : { file: await this.#turn.run(() => this.#publish(id, upload.site, bytes)) }
    } finally {
      await this.#drop(id)
    }
  }

  /** The process at the other end of a connection has ended. */
  holderEnded(holder: UploadHolder): void {
    this.#ended.add(holder)
    for (const [id, upload] of this.#running) if (upload.holder === holder) void this.#drop(id)
  }

  #partial(id: string): string {
    return join(this.#directory, `${id}.partial`)
  }

  /** Never rejects. The room is free once the file is gone. */
  async #drop(id: string): Promise<void> {
    const file = this.#partial(id)
    await rm(file, { force: true }).catch((error) => {
      this.#options.logger.warn({ file, err: asError(error) }, 'failed to delete a partial upload')
    })
    this.#running.delete(id)
  }

  async #publish(id: string, site: SiteConfig, bytes: number): Promise<string> {
    const { stateDir, now, maxBytes } = this.#options
    const name = `${new Date(now()).toISOString().replaceAll(/[-:.]/g, '')}-${id.slice(0, 12)}.tar.gz`
    const { handle, path } = await openIncoming(stateDir, site)
    try {
      const directory = `/proc/self/fd/${handle.fd}`
      await makeRoom(directory, MAX_LONGEST * maxBytes() - bytes)
      await rename(this.#partial(id), join(directory, name))
      await handle.sync()
      return join(path, name)
    } catch (error) {
      throw codeOf(error) === 'EXDEV' ? otherFileSystem(path, error) : error
    } finally {
      await handle.close()
    }
  }
}

function bytesOf(uploads: readonly Upload[]): number {
  return uploads.reduce((total, { reserved }) => total + reserved, 0)
}

/** Whose uploads in progress are too many for one more; undefined: there is room for it. */
function busyScope(upload: Upload, running: readonly Upload[], maxBytesOfSite: number): string | undefined {
  if (running.length >= MAX_RUNNING) return 'on this server'
  const { site, username } = upload
  if (running.filter((other) => other.username === username).length >= MAX_OF_USER) return `of ${username}`
  const sameSite = running.filter((other) => other.site.id === site.id)
  const isFull = sameSite.length >= MAX_ARCHIVES || bytesOf([upload, ...sameSite]) > maxBytesOfSite
  return isFull ? `for ${site.id}` : undefined
}

function otherFileSystem(path: string, cause: unknown): Error {
  const remedy = 'upload needs both on one file system'
  return new SupervisorError('SOURCE_INVALID', `${path} is on another file system than server.state_dir: ${remedy}`, { cause })
}

/** Deletes the oldest archives of a site until there is a place, and so many bytes are all that the others have. */
async function makeRoom(directory: string, maxBytes: number): Promise<void> {
  const archives: { readonly file: string; readonly bytes: number }[] = []
  const names = (await entriesOf(directory)).filter((entry) => entry.isFile() && ARCHIVE.test(entry.name)).map(({ name }) => name)
  for (const name of names.toSorted()) {
    const file = join(directory, name)
    archives.push({ file, bytes: (await lstat(file)).size })
  }
  let count = archives.length
  let sum = archives.reduce((total, { bytes }) => total + bytes, 0)
  for (const { file, bytes } of archives) {
    if (count < MAX_ARCHIVES && sum <= maxBytes) return
    await unlink(file)
    count--
    sum -= bytes
  }
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  const entries: Dirent[] = []
  for await (const entry of await opendir(directory)) {
    entries.push(entry)
    if (entries.length > MAX_ENTRIES)
      throw new SupervisorError('SOURCE_INVALID', 'the directory for uploads of the site has too many files')
  }
  return entries
}
