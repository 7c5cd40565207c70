import { readFile } from 'node:fs/promises'
import { codeOf, replaceFile } from '@svc/core'

/** Numbers reserved at a time: one write of the file for this many purges. */
const BLOCK = 1_000

/** Returns the last number of a file; undefined if it is missing or invalid. */
async function readLast(file: string): Promise<number | undefined> {
  try {
    const number = Number((await readFile(file, 'utf8')).trim())
    return Number.isSafeInteger(number) && number > 0 ? number : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function writeLast(file: string, number: number): Promise<void> {
  return replaceFile(file, `${number}\n`, true)
}

/**
 * Numbers that only grow, also over restarts and crashes. A number is issued only after the file has reserved it: after a crash
 * the next one is above all earlier ones.
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
   * Continues above the number of the file. Without one it starts at the wall clock: in milliseconds it is above any number that an
   * earlier file, started the same way, can have reached. That number is saved at once: entries carry it before the first purge,
   * and clocks can be set back.
   * @param nowMs wall clock
   */
  static async open(file: string, nowMs: number): Promise<PurgeNumbers> {
    const last = await readLast(file)
    if (last === undefined) await writeLast(file, nowMs)
    return new PurgeNumbers(file, last ?? nowMs)
  }

  /** The last issued number, by this process or an earlier one. */
  get last(): number {
    return this.#last
  }

  /** Issues the next number. Must not be called again before it has resolved. */
  async next(): Promise<number> {
    if (this.#last === this.#reserved) {
      await writeLast(this.#file, this.#last + BLOCK)
      this.#reserved = this.#last + BLOCK
    }
    this.#last++
    return this.#last
  }
}
