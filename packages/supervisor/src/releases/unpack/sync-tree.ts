import { constants } from 'node:fs'
import { open, opendir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Files at a time. */
const PARALLEL = 16

async function syncPath(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Resolves when a directory, with all in it and the two directories above it, outlives a loss of power. A name is written after
 * its file or directory.
 * @param sync writes one file or directory out. @default the `fsync` of the system
 */
export async function syncTree(root: string, sync: (path: string) => Promise<void> = syncPath): Promise<void> {
  const directories = [root]
  const entries = (await opendir(root, { recursive: true }))[Symbol.asyncIterator]()
  const syncFiles = async () => {
    for await (const entry of entries) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isDirectory()) directories.push(path)
      else if (entry.isFile()) await sync(path)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, syncFiles))
  // Those further down first.
  for (const directory of directories.toSorted((one, other) => other.length - one.length)) await sync(directory)
  for (const above of [dirname(root), dirname(dirname(root))]) await sync(above)
}
