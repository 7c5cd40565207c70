/** Node's `path.posix`, over text only. */
export const sep = '/'
export const delimiter = ':'

export function normalize(path: string): string {
  const isAbsolute = path.startsWith('/')
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (!isAbsolute) parts.push('..')
  }
  const joined = parts.join('/') + (path.endsWith('/') && parts.length > 0 ? '/' : '')
  return isAbsolute ? `/${joined}` : joined === '' ? (path.endsWith('/') && path !== '' ? './' : '.') : joined
}

export function join(...parts: string[]): string {
  const joined = parts.filter((part) => part !== '').join('/')
  return joined === '' ? '.' : normalize(joined)
}

/** Resolves from right to left; the root stands in for the working directory, which a site does not have. */
export function resolve(...parts: string[]): string {
  let path = ''
  for (const part of parts.toReversed()) {
    if (part === '') continue
    path = path === '' ? part : `${part}/${path}`
    if (part.startsWith('/')) break
  }
  const normal = normalize(path.startsWith('/') ? path : `/${path}`)
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal
}

export const isAbsolute = (path: string): boolean => path.startsWith('/')

const trimmed = (path: string) => (path.length > 1 ? path.replace(/\/+$/, '') || '/' : path)

export function dirname(path: string): string {
  const text = trimmed(path)
  const at = text.lastIndexOf('/')
  if (at < 0) return '.'
  return at === 0 ? '/' : trimmed(text.slice(0, at))
}

export function basename(path: string, suffix = ''): string {
  const text = trimmed(path)
  const name = text === '/' ? '' : text.slice(text.lastIndexOf('/') + 1)
  return suffix !== '' && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name
}

export function extname(path: string): string {
  const name = basename(path)
  const at = name.lastIndexOf('.')
  return at <= 0 ? '' : name.slice(at)
}

export function relative(from: string, to: string): string {
  const start = resolve(from).split('/').filter(Boolean)
  const end = resolve(to).split('/').filter(Boolean)
  let shared = 0
  while (shared < start.length && start[shared] === end[shared]) shared++
  return [...start.slice(shared).map(() => '..'), ...end.slice(shared)].join('/')
}

interface ParsedPath {
  root: string
  dir: string
  base: string
  ext: string
  name: string
}

export function parse(path: string): ParsedPath {
  const base = basename(path)
  const ext = extname(path)
  const dir = dirname(path)
  const root = path.startsWith('/') ? '/' : ''
  return {
    root,
    dir: dir === '.' && !path.startsWith('.') ? '' : dir,
    base,
    ext,
    name: ext === '' ? base : base.slice(0, -ext.length),
  }
}

export function format(parts: Partial<ParsedPath>): string {
  const dir = parts.dir ?? parts.root ?? ''
  const base = parts.base ?? `${parts.name ?? ''}${parts.ext ?? ''}`
  if (dir === '') return base
  return dir === parts.root ? `${dir}${base}` : `${dir}/${base}`
}
