import { open, readFile, rename } from 'node:fs/promises'
import { codeOf } from '@svc/core'

/** How many numbers are set aside at a time: one write of the file per so many purges. */
const BLOCK = 1_000
const PRIVATE = 0o600

/** The last number of a file; undefined when there is none that can be understood. */
async function readLast(file: string): Promise<number | undefined> {
  try {
    const number = Number((await readFile(file, 'utf8')).trim())
    return Number.isSafeInteger(number) && number > 0 ? number : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Replaces the file in one step, so that a crash leaves the old number or the new one. */
async function writeLast(file: string, number: number): Promise<void> {
  const temporary = `${file}.new`
  const handle = await open(temporary, 'w', PRIVATE)
  try {
    await handle.writeFile(`${number}\n`)
    await handle.datasync()
  } finally {
    await handle.close()
  }
  await rename(temporary, file)
}

/**
 * Numbers that only grow, over restarts and crashes too. A number is given out only when the file says that it may have been:
 * after a crash the next one is above all that went before.
 */
export class PurgeNumbers {
  readonly #file: string
  #last: number
  #reserved: number

  private constructor(file: string, last: number) {
    this.#file = file
    this.#last = last
    this.#reserved = last
  }

  /**
   * Goes on above what the file says. Where it says nothing the wall clock does: in milliseconds it is above whatever an earlier
   * file, begun the same way, can have come to. That is written down at once: entries carry it before there is any purge, and
   * clocks can be set back.
   * @param nowMs wall clock
   */
  static async open(file: string, nowMs: number): Promise<PurgeNumbers> {
    const last = await readLast(file)
    if (last === undefined) await writeLast(file, nowMs)
    return new PurgeNumbers(file, last ?? nowMs)
  }

  /** The last number that was given out, by this process or an earlier one. */
  get last(): number {
    return this.#last
  }

  /** Gives out the next number. Not to be called again before it has resolved. */
  async next(): Promise<number> {
    if (this.#last === this.#reserved) {
      await writeLast(this.#file, this.#last + BLOCK)
      this.#reserved = this.#last + BLOCK
    }
    this.#last++
    return this.#last
  }
}
