import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '@svc/core'
import { SupervisorError } from '@svc/processes'

/** The directory of sites without a tenant. No tenant has it: see `directoryName`. */
const NO_TENANT = '_'
const PRIVATE = 0o700

/** The name of a directory for a text of the configuration. */
export function directoryName(text: string): string {
  return encodeURIComponent(text).replace(/^[._]/, (first) => (first === '.' ? '%2E' : '%5F'))
}

/** The directory for archives of a tenant; of all tenants and none without one. */
export function incomingDir(stateDir: string, tenant?: string): string {
  return join(stateDir, 'incoming', ...(tenant === undefined ? [] : [directoryName(tenant)]))
}

/** A directory for the archives of a site, held by its descriptor: a tenant may replace the target of its path. */
interface SiteIncoming {
  readonly handle: FileHandle
  readonly path: string
}

/**
 * Opens the directory for the archives of a site, and makes it where it is missing. The caller closes the handle.
 * @throws SOURCE_INVALID if a link is in its place
 */
export async function openIncoming(
  stateDir: string,
  { tenant, id }: { readonly tenant?: string | undefined; readonly id: string },
): Promise<SiteIncoming> {
  let path = stateDir
  let handle = await open(stateDir, constants.O_DIRECTORY)
  for (const name of ['incoming', tenant === undefined ? NO_TENANT : directoryName(tenant), directoryName(id)]) {
    path = join(path, name)
    const outer = handle
    try {
      handle = await openInner(outer, name, path)
    } finally {
      await outer.close()
    }
  }
  return { handle, path }
}

async function openInner(outer: FileHandle, name: string, path: string): Promise<FileHandle> {
  const inner = `/proc/self/fd/${outer.fd}/${name}`
  await mkdir(inner, { mode: PRIVATE }).then(
    () => outer.sync(),
    (error) => {
      if (codeOf(error) !== 'EEXIST') throw error
    },
  )
  return open(inner, constants.O_DIRECTORY | constants.O_NOFOLLOW).catch((cause) => {
    if (codeOf(cause) !== 'ELOOP' && codeOf(cause) !== 'ENOTDIR') throw cause
    throw new SupervisorError('SOURCE_INVALID', `${path} is a link or no directory: remove it`, { cause })
  })
}
