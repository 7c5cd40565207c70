import type { HeaderBlock } from './header-block.ts'

/** A response head that is written again and again, in one piece. */
export interface ReadyHead {
  readonly status: number
  /** From the status code to the end of the last field, without the line break behind it. Memory of its own. */
  readonly bytes: Uint8Array
}

/**
 * Makes a head for many writes. The library takes bytes as they are, while it converts texts each time, and what it is given
 * costs by the piece: it writes whatever it takes for the status line.
 */
export function readyHeadOf({ status, statusLine, name, rest }: HeaderBlock): ReadyHead {
  const first = name.length === 0 ? statusLine : `${statusLine}\r\n${name}: `
  // A piece of a pool would keep the pool.
  const bytes = Buffer.allocUnsafeSlow(first.length + rest.length)
  bytes.write(first, 'latin1')
  if (typeof rest === 'string') bytes.write(rest, first.length, 'latin1')
  else bytes.set(rest, first.length)
  return { status, bytes }
}
