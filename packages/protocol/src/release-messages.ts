import { type Guarded, guard } from '@svc/core'

/** A root that a site was deployed from, or is to be. */
export const release = guard.object({
  id: guard.string,
  /** RFC 3339 in UTC. */
  created_at: guard.string,
  /** The directory or archive as it was named. */
  source: guard.string,
  /** Of the archive. */
  sha256: guard.optional(guard.string),
  /** `retired`: not in service; a rollback may go back to it. */
  state: guard.oneOf('ready', 'failed', 'retired'),
  live: guard.boolean,
})
export type Release = Guarded<typeof release>

/** A release in a list. */
export const siteRelease = guard.object({ site: guard.string, release })
export type SiteRelease = Guarded<typeof siteRelease>

/** Serves a site from a directory or archive. */
export const deployOrder = guard.object({
  site: guard.string,
  /** Absolute path. */
  source: guard.string,
  username: guard.string,
  /** The source must be one that this tenant has uploaded. */
  tenant: guard.optional(guard.string),
})
export type DeployOrder = Guarded<typeof deployOrder>

/** Goes back to a release of a site; undefined: to the one before the live one. */
export const rollbackOrder = guard.object({
  site: guard.string,
  release: guard.optional(guard.string),
  username: guard.string,
})
export type RollbackOrder = Guarded<typeof rollbackOrder>

/** Begins an upload of an archive. Its worker makes the id: 32 hexadecimal digits. */
export const uploadStart = guard.object({
  id: guard.string,
  site: guard.string,
  /** Of the user who uploads. */
  username: guard.string,
  /** As the client declares them. */
  bytes: guard.optional(guard.number),
})
export type UploadStart = Guarded<typeof uploadStart>

export const uploadPlace = guard.object({
  /** The file that the worker makes and writes. */
  partial: guard.string,
  /** Most bytes that all uploads in progress may write, this one included. */
  reserved: guard.number,
})
export type UploadPlace = Guarded<typeof uploadPlace>

/** Ends an upload. Without `bytes` it has failed. */
export const uploadEnd = guard.object({ id: guard.string, bytes: guard.optional(guard.number) })
export type UploadEnd = Guarded<typeof uploadEnd>
