/** Lines that a site may log in a second, for longer than a moment. */
const LINES_PER_SECOND = 500
/** Lines that may come at once. */
const BURST_LINES = 5_000
const CHARS_PER_SECOND = 1024 * 1024
const BURST_CHARS = 8 * 1024 * 1024

/** Longest line of a site's log, with the note that it was cut. */
const MAX_LINE_CHARS = 64 * 1024

/** Cuts a line of a site's log to the length that may be written. Called on both sides of the isolate's boundary. */
export function cutLine(text: string): string {
  if (text.length <= MAX_LINE_CHARS) return text
  const note = `… (${text.length} characters)`
  return text.slice(0, MAX_LINE_CHARS - note.length) + note
}

/** The level of a line whose text is the number of dropped lines. */
export const DROPPED_LEVEL = 'dropped'

/**
 * Decides which lines of a site's log are written. The guest asks it, so that a loop that logs does not drown the thread, and
 * so does the host, for all threads of the site together.
 */
export class LogRate {
  #lines = BURST_LINES
  #chars = BURST_CHARS
  #at: number

  /** @param now milliseconds on any clock */
  constructor(now: number) {
    this.#at = now
  }

  /** True if a line of this many characters may be written now. */
  take(charCount: number, now: number): boolean {
    // A clock may be set back.
    const seconds = Math.max(0, now - this.#at) / 1000
    this.#at = now
    this.#lines = Math.min(BURST_LINES, this.#lines + seconds * LINES_PER_SECOND)
    this.#chars = Math.min(BURST_CHARS, this.#chars + seconds * CHARS_PER_SECOND)
    if (this.#lines < 1 || this.#chars <= 0) return false
    this.#lines--
    // The last line may exceed the budget; the next ones wait until that is paid for.
    this.#chars -= charCount
    return true
  }
}
