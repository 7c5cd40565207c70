import { createHash } from 'node:crypto'
import { join } from 'node:path'

/** Of the 107 bytes that the kernel takes for the path of a unix socket, the way to the directory takes some too. */
const MAX_NAME_BYTES = 28
/** Sockets of the master have these names. */
const TAKEN = /^(?:control|units|host-\d+)$/

/** Where site units reach the master. */
export function unitsSocket(runDir: string): string {
  return join(runDir, 'units.sock')
}

/** Where the files of sites with a process of their own lie. */
export function siteFilesDir(runDir: string): string {
  return join(runDir, 'sites')
}

/** What the unit of a site reads. */
export function siteFilePath(runDir: string, site: string): string {
  return join(siteFilesDir(runDir), `${site}.json`)
}

/** Where the render host of a site's unit listens: `<run_dir>/<id>.sock`, or a name made of a long id. */
export function siteSocket(runDir: string, site: string): string {
  const name = `${site}.sock`
  if (name.length <= MAX_NAME_BYTES && !TAKEN.test(site)) return join(runDir, name)
  const digest = createHash('sha256').update(site).digest('hex').slice(0, 16)
  return join(runDir, `site-${digest}.sock`)
}
