import { readdir, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Clock, codeOf, type Guarded, guard, loadRegularFile, messageOf, replaceFile, targetOfPartial } from '@svc/core'
import { coalesce, SupervisorError } from '@svc/processes'
import { type Revocations, type RevokeRequest, type SessionRecord, sessionRecord } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { syncDirectory } from '../tls/private-files.ts'

/** Sessions and tokens on record: past it the one that expires first ends. */
const MAX_RECORDS = 10_000
/** Of one user, so that no user pushes out the records of others. */
const MAX_RECORDS_OF_USER = 100
/** Revoked tokens of one user that are remembered one by one. Past it, all that were issued to the user until then have ended. */
const MAX_REVOKED_OF_USER = 100
const MAX_FILE_BYTES = 64 * 1024 * 1024

const revokedToken = guard.object({ jti: guard.string, username: guard.string, expiresAt: guard.number })
/** `until`: the last of the tokens that it ends has expired. */
const cutoff = guard.object({ username: guard.string, issuedBefore: guard.number, until: guard.number })

const sessionsFile = guard.object({
  records: guard.arrayOf(sessionRecord),
  revoked: guard.arrayOf(revokedToken),
  cutoffs: guard.arrayOf(cutoff),
  issuedBefore: guard.number,
  networks: guard.recordOf(guard.arrayOf(guard.string)),
})
type SessionsFile = Guarded<typeof sessionsFile>
type KnownNetworks = Readonly<Record<string, readonly string[]>>

/** A token that ends before its time. */
type RevokedToken = Guarded<typeof revokedToken>

const emptyFile: SessionsFile = { records: [], revoked: [], cutoffs: [], issuedBefore: 0, networks: {} }

/** Dependencies of a `SessionStore`. */
interface SessionStoreOptions {
  readonly file: string
  readonly clock: Clock
  readonly logger: Logger
}

/** Tokens carry whole seconds. */
function nextSecond(nowMs: number): number {
  return (Math.floor(nowMs / 1000) + 1) * 1000
}

/** Reads the file of an earlier run. Undefined: there is one, but its content is lost. */
async function readContent({ file, logger }: SessionStoreOptions): Promise<SessionsFile | undefined> {
  try {
    const { bytes } = await loadRegularFile(file, { maxBytes: MAX_FILE_BYTES, isPrivate: true })
    return sessionsFile(JSON.parse(bytes.toString('utf8')), file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return emptyFile
    const aside = `${file}.damaged`
    logger.error(
      { file, aside, error: messageOf(error) },
      'failed to read the sessions: it is unknown which tokens were revoked, so all tokens issued so far have ended',
    )
    await rename(file, aside).catch((failure) => logger.warn({ err: failure }, 'failed to keep the damaged file'))
    return undefined
  }
}

/** Deletes partial files of a killed process. */
async function prunePartial(file: string): Promise<void> {
  const directory = dirname(file)
  for (const name of await readdir(directory)) if (targetOfPartial(name) === basename(file)) await unlink(join(directory, name))
}

/**
 * The sessions and tokens on record, and those that were revoked, until they expire. A change counts when its promise resolves: it is
 * on disk then, and survives a crash.
 */
export class SessionStore {
  readonly #clock: Clock
  readonly #records: Map<string, SessionRecord>
  readonly #revoked: Map<string, RevokedToken>
  readonly #cutoffs: Map<string, SessionsFile['cutoffs'][number]>
  #issuedBefore: number
  #networks: KnownNetworks
  readonly #save: () => Promise<void>

  private constructor({ file, clock }: SessionStoreOptions, content: SessionsFile) {
    this.#clock = clock
    this.#records = new Map(content.records.map((record) => [record.jti, record]))
    this.#revoked = new Map(content.revoked.map((token) => [token.jti, token]))
    this.#cutoffs = new Map(content.cutoffs.map((one) => [one.username, one]))
    this.#issuedBefore = content.issuedBefore
    this.#networks = content.networks
    this.#save = coalesce(() => this.#write(file))
  }

  /**
   * Reads the file. One that is damaged is kept aside, and every token issued before ends.
   * @throws SUP_SESSIONS if that cannot be written down
   */
  static async open(options: SessionStoreOptions): Promise<SessionStore> {
    await prunePartial(options.file)
    const content = await readContent(options)
    if (content !== undefined) return new SessionStore(options, content)
    const store = new SessionStore(options, { ...emptyFile, issuedBefore: nextSecond(options.clock.now()) })
    await store.#save()
    return store
  }

  /** Networks of earlier logins by username. */
  get networks(): KnownNetworks {
    return this.#networks
  }

  /** All that must not be accepted. */
  get revocations(): Revocations {
    this.#prune()
    return {
      tokens: Array.from(this.#revoked.values(), ({ jti, expiresAt }) => ({ jti, expiresAt })),
      users: Array.from(this.#cutoffs.values(), ({ username, issuedBefore }) => ({ username, issuedBefore })),
      issuedBefore: this.#issuedBefore,
    }
  }

  /** Sessions and tokens on record that have not ended. */
  get records(): SessionRecord[] {
    this.#prune()
    return [...this.#records.values()]
  }

  record(jti: string): SessionRecord | undefined {
    this.#prune()
    return this.#records.get(jti)
  }

  /** Time of issue for a new token of a user: after every time before which tokens have ended. */
  issueTime(username: string): number {
    const second = Math.floor(this.#clock.now() / 1000) * 1000
    return Math.max(second, this.#issuedBefore, this.#cutoffs.get(username)?.issuedBefore ?? 0)
  }

  /**
   * Records a session or token, and the networks of logins. Resolves with what ended for want of room.
   * @throws SUP_SESSIONS
   */
  async add(record: SessionRecord, networks: KnownNetworks = this.#networks): Promise<Revocations | undefined> {
    this.#prune()
    const removed = this.#overflowing(record.username)
    const ended = removed === undefined ? undefined : this.#end(removed)
    this.#records.set(record.jti, record)
    this.#networks = networks
    try {
      await this.#save()
    } catch (error) {
      this.#records.delete(record.jti)
      throw error
    }
    return ended
  }

  /**
   * Ends a token before its time, in memory at once. `saved` resolves when that is on disk, and rejects with SUP_SESSIONS. Undefined:
   * the token is unknown.
   */
  revoke({ jti, holder }: RevokeRequest): { readonly ended: Revocations; readonly saved: Promise<void> } | undefined {
    this.#prune()
    const found = this.#records.get(jti) ?? this.#revoked.get(jti) ?? holder
    if (found === undefined) return undefined
    const { username, expiresAt } = found
    const ended = this.#end({ jti, username, expiresAt })
    return { ended, saved: this.#save() }
  }

  #end(token: RevokedToken): Revocations {
    const { jti, username, expiresAt } = token
    this.#records.delete(jti)
    this.#revoked.set(jti, { jti, username, expiresAt })
    const ofUser = [...this.#revoked.values()].filter((one) => one.username === username)
    const none = { tokens: [], users: [], issuedBefore: 0 }
    if (ofUser.length <= MAX_REVOKED_OF_USER) return { ...none, tokens: [{ jti, expiresAt }] }
    const alive = [...this.#records.values()].filter((record) => record.username === username)
    const issuedBefore = nextSecond(this.#clock.now())
    const until = Math.max(...[...ofUser, ...alive].map((one) => one.expiresAt))
    this.#cutoffs.set(username, { username, issuedBefore, until })
    for (const one of ofUser) this.#revoked.delete(one.jti)
    for (const one of alive) this.#records.delete(one.jti)
    return { ...none, users: [{ username, issuedBefore }] }
  }

  /** The record that has to go for one more of a user. */
  #overflowing(username: string): SessionRecord | undefined {
    const all = [...this.#records.values()]
    const own = all.filter((record) => record.username === username)
    const candidates = own.length >= MAX_RECORDS_OF_USER ? own : all.length >= MAX_RECORDS ? all : []
    return candidates.toSorted((one, other) => one.expiresAt - other.expiresAt)[0]
  }

  #prune(): void {
    const now = this.#clock.now()
    for (const [jti, { expiresAt }] of this.#records) if (expiresAt <= now) this.#records.delete(jti)
    for (const [jti, { expiresAt }] of this.#revoked) if (expiresAt <= now) this.#revoked.delete(jti)
    for (const [username, { until }] of this.#cutoffs) if (until <= now) this.#cutoffs.delete(username)
  }

  async #write(file: string): Promise<void> {
    const content = {
      records: [...this.#records.values()],
      revoked: [...this.#revoked.values()],
      cutoffs: [...this.#cutoffs.values()],
      issuedBefore: this.#issuedBefore,
      networks: this.#networks,
    } satisfies { readonly [Key in keyof SessionsFile]: unknown }
    try {
      await replaceFile(file, JSON.stringify(content), true)
      await syncDirectory(dirname(file))
    } catch (error) {
      throw new SupervisorError('SUP_SESSIONS', { file, why: messageOf(error) }, { cause: error })
    }
  }
}
