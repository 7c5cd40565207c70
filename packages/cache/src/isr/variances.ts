import type { Variance } from '../store/entry.ts'
import { idOf, pathText } from './index-keys.ts'

/** The key of a variance record: with and without trailing slash a path has one. */
export function varianceKey(label: string, path: string): Buffer {
  return idOf(pathText(path, label))
}

export function encodeVariance({ query, host }: Variance): Buffer {
  return Buffer.of((query ? 1 : 0) | (host ? 2 : 0))
}

export function decodeVariance(bytes: Buffer): Variance {
  const flags = bytes.readUInt8(0)
  return { query: (flags & 1) !== 0, host: (flags & 2) !== 0 }
}
