import { createHash } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { asError, type Clock, codeOf, Gate, guard, loadRegularFile } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { type Silence, type SilencedAlert, type SilenceOrder, silence } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { saveState } from '../overrides/save-state.ts'

const MAX_SILENCES = 1_000
/** No user may take the room of the others. */
const MAX_PER_USER = 100
const MAX_FILE_BYTES = 4 * 1024 * 1024
const silencesGuard = guard.arrayOf(silence)

/** Dependencies of `Silences`. */
interface SilencesOptions {
  readonly stateDir: string
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
}

/** The same alert has the same id. */
function idOf({ name, site, subject }: SilencedAlert): string {
  return createHash('sha256')
    .update(JSON.stringify([name, site, subject]))
    .digest('hex')
    .slice(0, 16)
}

/** Alerts that are known to their operators: they are not announced until a time. Kept over restarts. */
export class Silences {
  readonly #options: SilencesOptions
  readonly #file: string
  readonly #turn = new Gate(1)
  #byId: ReadonlyMap<string, Silence>

  private constructor(options: SilencesOptions, file: string, silences: readonly Silence[]) {
    this.#options = options
    this.#file = file
    this.#byId = new Map(silences.map((one) => [one.id, one]))
  }

  /** Reads the file. One that cannot be read is kept aside: nothing is silenced then. */
  static async open(options: SilencesOptions): Promise<Silences> {
    const file = join(options.stateDir, 'silences.json')
    try {
      const { bytes } = await loadRegularFile(file, { maxBytes: MAX_FILE_BYTES })
      return new Silences(options, file, silencesGuard(JSON.parse(bytes.toString()), file))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return new Silences(options, file, [])
      options.logger.error(
        { err: asError(error), file, kept: `${file}.damaged` },
        'silences are unreadable: no alert is silenced',
      )
      await rename(file, `${file}.damaged`)
      return new Silences(options, file, [])
    }
  }

  /** Those that hold, the first to end before the others. */
  list(): Silence[] {
    return [...this.#byId.values()].filter((one) => this.#holds(one)).sort((one, other) => (one.until < other.until ? -1 : 1))
  }

  /** The silence of an alert; undefined: it has none. */
  of(alert: SilencedAlert): Silence | undefined {
    if (this.#byId.size === 0) return undefined
    const found = this.#byId.get(idOf(alert))
    return found !== undefined && this.#holds(found) ? found : undefined
  }

  /** Silences an alert, in place of a silence that it has. Resolves when the file has it. @throws SUP_SILENCE_LIMIT, SUP_STATE */
  set({ name, site, subject, until, reason, username }: SilenceOrder): Promise<Silence> {
    const id = idOf({ name, site, subject })
    const at = new Date(this.#options.clock.now()).toISOString()
    return this.#turn.run(async () => {
      const others = this.list().filter((one) => one.id !== id)
      const own = others.filter((one) => one.username === username)
      if (others.length >= MAX_SILENCES || own.length >= MAX_PER_USER) {
        throw new SupervisorError('SUP_SILENCE_LIMIT', { max: own.length >= MAX_PER_USER ? MAX_PER_USER : MAX_SILENCES })
      }
      const made = { id, name, site, subject, until, reason, username, at }
      await this.#save([...others, made])
      return made
    })
  }

  /** Ends a silence. False: there is none of that id. @throws SUP_STATE */
  end(id: string): Promise<boolean> {
    return this.#turn.run(async () => {
      const held = this.list()
      const others = held.filter((one) => one.id !== id)
      if (others.length === held.length) return false
      await this.#save(others)
      return true
    })
  }

  #holds({ until }: Silence): boolean {
    return Date.parse(until) > this.#options.clock.now()
  }

  async #save(silences: readonly Silence[]): Promise<void> {
    await saveState(this.#file, silences)
    this.#byId = new Map(silences.map((one) => [one.id, one]))
  }
}
