import { fstatSync, readSync } from 'node:fs'
import { contentStateOf } from './file-facts.ts'
import type { OpenFile } from './file-source.ts'

/** Reads an open file at once; undefined when it changed while being read. For small files: it blocks the thread. */
export function readWhole(file: OpenFile): Buffer | undefined {
  const content = Buffer.allocUnsafeSlow(Number(file.stat.size))
  let filled = 0
  while (filled < content.byteLength) {
    const count = readSync(file.fd, content, filled, content.byteLength - filled, filled)
    if (count === 0) return undefined
    filled += count
  }
  return contentStateOf(fstatSync(file.fd, { bigint: true })) === contentStateOf(file.stat) ? content : undefined
}
