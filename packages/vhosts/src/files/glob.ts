import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '@svc/core'

/** There is nothing, which is no reason to complain. */
const MISSING = new Set(['ENOENT', 'ENOTDIR'])

/** Returns true if a path has wildcards. */
export function isGlob(path: string): boolean {
  return /[*?[]/.test(path)
}

function escapeRegex(text: string): string {
  return text.replace(/[\\^$.|+(){}\]/]/g, '\\$&')
}

/** One segment of a path as a pattern: `*`, `?` and `[...]`, none of which matches a first dot. */
function segmentPattern(segment: string): RegExp {
  const source = segment.replace(
    /\[(!?)([^\]]+)\]|[*?]|[^*?[]+|\[/g,
    (part, not: string | undefined, members: string | undefined) => {
      if (members !== undefined) return `[${not === '!' ? '^' : ''}${members.replace(/[\\\]^[]/g, '\\$&')}]`
      if (part === '*') return '[^]*'
      if (part === '?') return '[^]'
      return part === '[' ? '\\[' : escapeRegex(part)
    },
  )
  return new RegExp(`^${/^[*?[]/.test(segment) ? '(?!\\.)' : ''}${source}$`)
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => !MISSING.has(codeOf(error) ?? ''),
  )
}

/** Told of a directory in which a glob may stand for something, and which cannot be read. */
type OnUnreadable = (dir: string, error: unknown) => void

async function namesIn(dir: string, onUnreadable: OnUnreadable): Promise<string[]> {
  return readdir(dir).catch((error: unknown) => {
    if (!MISSING.has(codeOf(error) ?? '')) onUnreadable(dir, error)
    return []
  })
}

/** Finds the paths that an absolute glob stands for, in the order of their bytes, as glob(3) does. */
export async function findGlob(glob: string, onUnreadable: OnUnreadable): Promise<string[]> {
  let found = ['/']
  for (const segment of glob.split('/').filter((part) => part !== '')) {
    const next: string[] = []
    const pattern = isGlob(segment) ? segmentPattern(segment) : undefined
    for (const dir of found) {
      if (pattern === undefined) {
        if (await exists(join(dir, segment))) next.push(join(dir, segment))
      } else {
        next.push(...(await namesIn(dir, onUnreadable)).filter((name) => pattern.test(name)).map((name) => join(dir, name)))
      }
    }
    found = next
  }
  return found.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}
