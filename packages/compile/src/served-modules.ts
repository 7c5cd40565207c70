import { builtinModules } from '@svc/site'

const served = new Set(builtinModules)

/** Packages that the server replaces: a copy in the site's `node_modules` is never run. */
const replacedPackages = ['react', 'react-dom', 'next'] as const
type ReplacedPackage = (typeof replacedPackages)[number]

function isIn(specifier: string, packageName: string): boolean {
  return specifier === packageName || specifier.startsWith(`${packageName}/`)
}

/** The name of the builtin module for a specifier (`next/link.js` is `next/link`); undefined: there is none. */
export function servedName(specifier: string): string | undefined {
  if (served.has(specifier)) return specifier
  const name = specifier.endsWith('.js') ? specifier.slice(0, -'.js'.length) : ''
  // `events.js` is a package, not a built-in module.
  return name.includes('/') && served.has(name) ? name : undefined
}

/**
 * The specifier of a file in a package that the server replaces, however it was reached: by a relative path, in a nested
 * copy, through a link of a package manager. undefined: it is in another package, or in none.
 */
export function replacedSpecifier(file: string): string | undefined {
  const at = file.lastIndexOf('/node_modules/')
  if (at < 0) return undefined
  const specifier = file.slice(at + '/node_modules/'.length).replace(/(?:\/index)?\.js$/, '')
  return replacedPackages.some((name) => isIn(specifier, name)) ? specifier : undefined
}

/** The error of a specifier that belongs to a package of the server and is none of its modules; undefined: it does not. */
export function unservedProblem(specifier: string): { readonly message: string; readonly hint: string } | undefined {
  const packageName = ([...replacedPackages, 'svc'] as const).find((name) => isIn(specifier, name))
  if (packageName === undefined) return undefined
  return { message: `the server has no module "${specifier}"`, hint: hintFor(packageName) }
}

function hintFor(packageName: ReplacedPackage | 'svc'): string {
  const names = builtinModules.filter((name) => isIn(name, packageName)).join(', ')
  const reason = packageName === 'svc' ? '' : `; a copy of ${packageName} in node_modules is not used`
  return `there are ${names}${reason}`
}
