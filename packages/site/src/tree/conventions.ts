/** A file convention that gives a segment one of its parts. */
export type FileRole = 'page' | 'route' | 'layout' | 'template' | 'loading' | 'error' | 'not-found' | 'global-error' | 'default'

const roles: readonly FileRole[] = [
  'page',
  'route',
  'layout',
  'template',
  'loading',
  'error',
  'not-found',
  'global-error',
  'default',
]

/** Extensions of modules, the preferred one first. */
export const codeExtensions = ['tsx', 'ts', 'jsx', 'js'] as const

const roleByFileName: ReadonlyMap<string, FileRole> = new Map(
  roles.flatMap((role) => codeExtensions.map((extension) => [`${role}.${extension}`, role] as const)),
)

/** The convention that a file name follows, or undefined. Case matters. */
export function roleOf(fileName: string): FileRole | undefined {
  return roleByFileName.get(fileName)
}

/** Returns true if `left` goes before `right` when both files fill one role: by extension. */
export function isPreferred(left: string, right: string): boolean {
  const rank = (file: string) => codeExtensions.findIndex((extension) => file.endsWith(`.${extension}`))
  return rank(left) < rank(right)
}

/** The export that names the parameters of a route in advance. */
export const STATIC_PARAMS = 'generateStaticParams'

/** File names of code that stands before every request of a site. */
export const middlewareNames: readonly string[] = ['middleware', 'proxy'].flatMap((name) =>
  codeExtensions.map((extension) => `${name}.${extension}`),
)
