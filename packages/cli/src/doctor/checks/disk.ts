import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { shellWord } from '../../command-line/installation.ts'
import type { Check, Verdict } from '../model/subject.ts'
import { directoriesOf } from './directories.ts'

/** As the health check and the alert `disk_space` judge it. */
const FAULT_RATIO = 0.05
const WARNING_RATIO = 0.1
const MIB = 1024 * 1024

interface Share {
  readonly free: number
  readonly all: number
}

function judge(path: string, { free, all }: Share, text: string, remedy: string): Verdict | undefined {
  // Some virtual file systems have no size, or no number of files.
  if (all === 0 || free / all >= WARNING_RATIO) return undefined
  const percent = ((free / all) * 100).toFixed(1)
  return { status: free / all < FAULT_RATIO ? 'problem' : 'warning', message: `${path}: ${percent} % ${text}`, remedy }
}

/** The directory, or what exists of it. */
async function existing(path: string): Promise<{ path: string; device: number }> {
  try {
    return { path, device: (await stat(path)).dev }
  } catch (error) {
    if (path === '/') throw error
    return await existing(dirname(path))
  }
}

async function examine(path: string): Promise<Verdict[]> {
  const { bavail, blocks, bsize, ffree, files } = await statfs(path)
  const word = shellWord(path)
  const space = judge(
    path,
    { free: bavail, all: blocks },
    `of the space is free`,
    `du -x -h -d 2 ${word} | sort -h | tail, and delete or enlarge`,
  )
  const nodes = judge(
    path,
    { free: ffree, all: files },
    'of the inodes are free',
    `du -x --inodes -d 2 ${word} | sort -n | tail, and delete`,
  )
  const found = [space, nodes].filter((one) => one !== undefined)
  if (found.length > 0) return found
  const text = blocks === 0 ? 'no limit of space' : `${Math.floor((bavail * bsize) / MIB)} MiB free`
  return [{ status: 'ok', message: `${path}: ${text}` }]
}

/** The file systems that the server writes to have space and inodes. */
export const diskCheck: Check = {
  name: 'disk',
  run: async ({ loaded }) => {
    if (loaded === undefined)
      return [{ status: 'unknown', message: 'the configuration, which names the directories, is not valid' }]
    const places = await Promise.all(Object.values(directoriesOf(loaded)).map(existing))
    const byDevice = new Map(places.map(({ path, device }) => [device, path]))
    return (await Promise.all(Array.from(byDevice.values(), examine))).flat()
  },
}
