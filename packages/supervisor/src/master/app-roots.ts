import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { hasApp, type SiteConfig } from '@svc/config'

/** Where the routes of a site may lie below its root. */
const APP_DIRECTORIES = ['', 'app', 'src/app'] as const

/** Undefined when there is nothing at the path. */
function resolved(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined)
}

async function isRootOf(site: SiteConfig, wanted: string): Promise<boolean> {
  const own = await Promise.all(APP_DIRECTORIES.map((name) => resolved(join(site.root, name))))
  return own.includes(wanted)
}

/** The sites whose root or app directory a path leads to, links followed. */
export async function sitesAt(sites: readonly SiteConfig[], path: string): Promise<SiteConfig[]> {
  const wanted = await resolved(path)
  if (wanted === undefined) return []
  const are = await Promise.all(sites.map((site) => hasApp(site) && isRootOf(site, wanted)))
  return sites.filter((_, index) => are[index])
}
