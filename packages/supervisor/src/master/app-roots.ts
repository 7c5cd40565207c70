import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { hasApp, type SiteConfig } from '@svc/config'

/** Directories below a site's root that may hold its routes. */
const APP_DIRECTORIES = ['', 'app', 'src/app'] as const

/** Undefined if the path does not exist. */
function resolved(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined)
}

async function isRootOf(site: SiteConfig, wanted: string): Promise<boolean> {
  const own = await Promise.all(APP_DIRECTORIES.map((name) => resolved(join(site.root, name))))
  return own.includes(wanted)
}

/** Returns the sites whose root or app directory is at the path, links followed. */
export async function sitesAt(sites: readonly SiteConfig[], path: string): Promise<SiteConfig[]> {
  const wanted = await resolved(path)
  if (wanted === undefined) return []
  const are = await Promise.all(sites.map((site) => hasApp(site) && isRootOf(site, wanted)))
  return sites.filter((_, index) => are[index])
}
