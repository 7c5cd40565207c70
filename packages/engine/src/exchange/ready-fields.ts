import type { ReadyHead } from './ready-head.ts'

/** Takes the written form of a ready head apart again: its fields, without the status line. */
export function readyFields({ bytes }: ReadyHead): Array<readonly [name: string, value: string]> {
  const [, ...lines] = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').split('\r\n')
  return lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 2)] as const
  })
}
