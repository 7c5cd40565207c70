import { statfs } from 'node:fs/promises'
import type { DiskSpace } from '@svc/telemetry'

async function freeRatio(path: string): Promise<DiskSpace[]> {
  try {
    const { bavail, blocks } = await statfs(path)
    // Some virtual file systems have no size and never fill up.
    return blocks === 0 ? [] : [{ path, freeRatio: bavail / blocks }]
  } catch {
    // A deleted directory has no free space either.
    return [{ path, freeRatio: 0 }]
  }
}

/** Measures the free space below each path. */
export async function diskSpace(paths: readonly string[]): Promise<DiskSpace[]> {
  return (await Promise.all(paths.map(freeRatio))).flat()
}
