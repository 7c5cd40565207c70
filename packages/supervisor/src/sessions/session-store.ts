import { readdir, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import {
  type Clock,
  coalesce,
  codeOf,
  type Guarded,
  guard,
  loadRegularFile,
  messageOf,
  replaceFile,
  setNewest,
  targetOfPartial,
} from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { type Revocations, type RevokeRequest, type SessionRecord, sessionRecord } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** Sessions and tokens on record: past it the one that expires first ends. */
const MAX_RECORDS = 10_000
/** Of one user, so that no user pushes out the records of others. */
const MAX_RECORDS_OF_USER = 100
/** Revoked tokens of one user that are remembered one by one. Past it, all that were issued to the user until then have ended. */
const MAX_REVOKED_OF_USER = 100
/** Revoked tokens of all users, with those of other instances. Past it, all tokens that were issued until then have ended. */
const MAX_REVOKED = 100_000
/** Users whose earlier tokens have ended. Past it, the time that is dropped counts for every user. */
const MAX_CUTOFFS = 10_000
const MAX_FILE_BYTES = 64 * 1024 * 1024

const revokedToken = guard.object({ jti: guard.string, username: guard.string, expiresAt: guard.number })
/** It never expires: a token of the command line may live for any time. */
const cutoff = guard.object({ username: guard.string, issuedBefore: guard.number })

const sessionsFile = guard.object({
  records: guard.arrayOf(sessionRecord),
  revoked: guard.arrayOf(revokedToken),
  cutoffs: guard.arrayOf(cutoff),
  issuedBefore: guard.number,
  networks: guard.recordOf(guard.arrayOf(guard.string)),
  /** Digests of the password hashes of all users. */
  passwords: guard.recordOf(guard.string),
})
type SessionsFile = Guarded<typeof sessionsFile>
type KnownNetworks = Readonly<Record<string, readonly string[]>>

/** A token that ends before its time. */
type RevokedToken = Guarded<typeof revokedToken>

const emptyFile: SessionsFile = { records: [], revoked: [], cutoffs: [], issuedBefore: 0, networks: {}, passwords: {} }

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
  /** Times before which tokens have ended, by user. */
  readonly #cutoffs: Map<string, number>
  #issuedBefore: number
  #networks: KnownNetworks
  #passwords: ReadonlyMap<string, string>
  readonly #save: () => Promise<void>

  private constructor({ file, clock }: SessionStoreOptions, content: SessionsFile) {
    this.#clock = clock
    this.#records = new Map(content.records.map((record) => [record.jti, record]))
    this.#revoked = new Map(content.revoked.map((token) => [token.jti, token]))
    this.#cutoffs = new Map(content.cutoffs.map(({ username, issuedBefore }) => [username, issuedBefore]))
    this.#issuedBefore = content.issuedBefore
    this.#networks = content.networks
    this.#passwords = new Map(Object.entries(content.passwords))
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
      tokens: [...this.#revoked.values()],
      users: Array.from(this.#cutoffs, ([username, issuedBefore]) => ({ username, issuedBefore })),
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
    return Math.max(second, this.#issuedBefore, this.#cutoffs.get(username) ?? 0)
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

  /**
   * Ends sessions and tokens that have ended on another instance, in memory at once. `saved` resolves when that is on disk, and rejects with SUP_SESSIONS.
   * Undefined: all of it has ended here already.
   */
  merge(revocations: Revocations): { readonly ended: Revocations; readonly saved: Promise<void> } | undefined {
    this.#prune()
    const now = this.#clock.now()
    const users = revocations.users.filter(({ username, issuedBefore }) => issuedBefore > (this.#cutoffs.get(username) ?? 0))
    const tokens = revocations.tokens.filter(({ jti, expiresAt }) => expiresAt > now && !this.#revoked.has(jti))
    const issuedBefore = Math.max(this.#issuedBefore, revocations.issuedBefore)
    if (users.length + tokens.length === 0 && issuedBefore === this.#issuedBefore) return undefined
    this.#issuedBefore = issuedBefore
    for (const one of users) this.#setCutoff(one.username, one.issuedBefore)
    for (const token of tokens) {
      this.#records.delete(token.jti)
      this.#revoked.set(token.jti, token)
    }
    if (this.#revoked.size > MAX_REVOKED) {
      this.#issuedBefore = nextSecond(now)
      this.#revoked.clear()
    }
    return { ended: { tokens, users, issuedBefore: this.#issuedBefore }, saved: this.#save() }
  }

  /**
   * Ends sessions and tokens of users who had another password at the last call, and of those who are gone, in memory at once.
   * `saved` rejects with SUP_SESSIONS. A user who was not known then keeps all. Undefined: nothing has changed.
   * @param passwords a digest of the password hash of each user
   */
  followPasswords(
    passwords: ReadonlyMap<string, string>,
  ): { readonly ended: Revocations; readonly saved: Promise<void> } | undefined {
    const before = this.#passwords
    const changed = [...before].filter(([username, digest]) => passwords.get(username) !== digest)
    const users = changed.map(([username]) => this.#cutOff(username))
    this.#passwords = passwords
    if (users.length === 0 && before.size === passwords.size) return undefined
    return { ended: { tokens: [], users, issuedBefore: this.#issuedBefore }, saved: this.#save() }
  }

  #end(token: RevokedToken): Revocations {
    const { jti, username, expiresAt } = token
    this.#records.delete(jti)
    this.#revoked.set(jti, { jti, username, expiresAt })
    const ofUser = [...this.#revoked.values()].filter((one) => one.username === username)
    if (ofUser.length <= MAX_REVOKED_OF_USER) return { tokens: [{ jti, username, expiresAt }], users: [], issuedBefore: 0 }
    return { tokens: [], users: [this.#cutOff(username)], issuedBefore: this.#issuedBefore }
  }

  /** Ends all that was issued to a user until now. */
  #cutOff(username: string): Revocations['users'][number] {
    const issuedBefore = nextSecond(this.#clock.now())
    this.#setCutoff(username, issuedBefore)
    for (const [jti, one] of this.#revoked) if (one.username === username) this.#revoked.delete(jti)
    return { username, issuedBefore }
  }

  #setCutoff(username: string, issuedBefore: number): void {
    this.#cutoffs.delete(username)
    const [oldest = 0] = this.#cutoffs.values()
    if (this.#cutoffs.size >= MAX_CUTOFFS) this.#issuedBefore = Math.max(this.#issuedBefore, oldest)
    setNewest(this.#cutoffs, username, issuedBefore, MAX_CUTOFFS)
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
    for (const [jti, { username, issuedAt, expiresAt }] of this.#records) {
      const hasEnded = issuedAt < Math.max(this.#issuedBefore, this.#cutoffs.get(username) ?? 0)
      if (hasEnded || expiresAt <= now) this.#records.delete(jti)
    }
    for (const [jti, { expiresAt }] of this.#revoked) if (expiresAt <= now) this.#revoked.delete(jti)
  }

  async #write(file: string): Promise<void> {
    const content = {
      records: [...this.#records.values()],
      revoked: [...this.#revoked.values()],
      cutoffs: Array.from(this.#cutoffs, ([username, issuedBefore]) => ({ username, issuedBefore })),
      issuedBefore: this.#issuedBefore,
      networks: this.#networks,
      passwords: Object.fromEntries(this.#passwords),
    } satisfies { readonly [Key in keyof SessionsFile]: unknown }
    try {
      await replaceFile(file, JSON.stringify(content), true)
    } catch (error) {
      throw new SupervisorError('SUP_SESSIONS', { file, why: messageOf(error) }, { cause: error })
    }
  }
}
