import { fstatSync } from 'node:fs'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * True if a descriptor leads to the journal of systemd: JOURNAL_STREAM names device and inode of the stream that systemd opened
 * (systemd.exec(5)). A redirected descriptor has others, even if the variable is still there.
 */
export function isJournal(fd: number, env: Environment = process.env): boolean {
  const stream = env['JOURNAL_STREAM']
  if (stream === undefined || stream === '') return false
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true })
    return stream === `${dev}:${ino}`
  } catch {
    // The descriptor is closed: nothing is written there.
    return false
  }
}

/** Priorities of sd-daemon(3) by level of the logger, from 10 for trace to 60 for fatal. */
const DEBUG = '<7>'
const INFO = '<6>'
const WARNING = '<4>'
const ERROR = '<3>'
const CRITICAL = '<2>'

/** The prefix that tells the journal the priority of a line. @param level 10 for trace to 60 for fatal */
export function journalPrefix(level: number): string {
  if (level >= 60) return CRITICAL
  if (level >= 50) return ERROR
  if (level >= 40) return WARNING
  return level >= 30 ? INFO : DEBUG
}

/** Begins each line of a text with a prefix. */
export function prefixLines(text: string, prefix: string): string {
  if (prefix === '') return text
  const body = text.endsWith('\n') ? text.slice(0, -1) : text
  return `${prefix}${body.replaceAll('\n', `\n${prefix}`)}\n`
}

/** The prefix of lines of a level on a descriptor: "" if it does not lead to the journal. */
export function prefixOn(fd: number, level: 'info' | 'error', env: Environment = process.env): string {
  if (!isJournal(fd, env)) return ''
  return level === 'info' ? INFO : ERROR
}
