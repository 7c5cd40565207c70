import type { ByteSet } from './pattern-tree.ts'

const BYTES = 256

/** The set of the bytes for which `test` holds. */
export function bytesWhere(test: (byte: number) => boolean): ByteSet {
  return Uint8Array.from({ length: BYTES }, (_, byte) => (test(byte) ? 1 : 0))
}

/** The set of one byte. */
export function oneByte(byte: number): ByteSet {
  return bytesWhere((other) => other === byte)
}

/** All bytes that are not in a set. */
export function complement(set: ByteSet): ByteSet {
  return set.map((flag) => 1 - flag)
}

/** Adds the bytes of one set to another. */
export function addAll(target: ByteSet, added: ByteSet): void {
  for (let byte = 0; byte < BYTES; byte++) if (added[byte] === 1) target[byte] = 1
}

/** Adds the other case of the ASCII letters of a set. */
export function bothCases(set: ByteSet): ByteSet {
  return bytesWhere((byte) => {
    const isLetter = /[a-z]/i.test(String.fromCharCode(byte))
    return set[byte] === 1 || (isLetter && set[byte ^ 0x20] === 1)
  })
}

function setOf(pattern: RegExp): ByteSet {
  return bytesWhere((byte) => pattern.test(String.fromCharCode(byte)))
}

/** Classes of POSIX, in the C locale. */
export const posixClasses: Readonly<Record<string, ByteSet>> = {
  alnum: setOf(/[0-9A-Za-z]/),
  alpha: setOf(/[A-Za-z]/),
  ascii: bytesWhere((byte) => byte < 0x80),
  blank: setOf(/[ \t]/),
  cntrl: bytesWhere((byte) => byte < 0x20 || byte === 0x7f),
  digit: setOf(/[0-9]/),
  graph: setOf(/[!-~]/),
  lower: setOf(/[a-z]/),
  print: setOf(/[ -~]/),
  punct: setOf(/[!-/:-@[-`{-~]/),
  space: setOf(/[\t-\r ]/),
  upper: setOf(/[A-Z]/),
  word: setOf(/[0-9A-Za-z_]/),
  xdigit: setOf(/[0-9A-Fa-f]/),
}

/** What a class such as `\d` stands for, by its letter. */
export const letterClasses: Readonly<Record<string, ByteSet>> = (() => {
  const lower = {
    d: setOf(/[0-9]/),
    w: setOf(/[0-9A-Za-z_]/),
    s: setOf(/[\t-\r ]/),
    h: setOf(/[\t \xa0]/),
    v: setOf(/[\n-\r\x85]/),
  }
  const upper = Object.entries(lower).map(([letter, set]) => [letter.toUpperCase(), complement(set)])
  return { ...lower, ...Object.fromEntries(upper), N: complement(oneByte(10)) }
})()

function escaped(byte: number): string {
  const char = String.fromCharCode(byte)
  if (/[0-9A-Za-z]/.test(char)) return char
  if (byte === 0x2f || /[_~!@#%&=:;,<>"'` ]/.test(char)) return byte === 0x2f ? '\\/' : char
  return byte > 0x20 && byte < 0x7f ? `\\${char}` : `\\x${byte.toString(16).padStart(2, '0')}`
}

function ranges(set: ByteSet): string {
  let text = ''
  for (let byte = 0; byte < BYTES; byte++) {
    if (set[byte] !== 1) continue
    const from = byte
    while (set[byte + 1] === 1) byte++
    if (byte === from) text += escaped(from)
    else text += byte === from + 1 ? `${escaped(from)}${escaped(byte)}` : `${escaped(from)}-${escaped(byte)}`
  }
  return text
}

/** Writes a set in JavaScript's grammar. */
export function writeSet(set: ByteSet): string {
  const count = set.reduce((sum, flag) => sum + flag, 0)
  if (count === BYTES) return '[^]'
  if (count === 0) return '[]'
  if (count === 1) return escaped(set.indexOf(1))
  return count > BYTES / 2 ? `[^${ranges(complement(set))}]` : `[${ranges(set)}]`
}
