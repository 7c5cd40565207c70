import { type Guarded, guard } from '@svc/core'

/** Where the values of a configuration come from. */
export const valueOrigins = ['file', 'environment', 'option', 'default', 'override'] as const

/** Selects values of the configuration in service. */
export const configValueQuery = guard.object({
  /** A part of the key, or of the place; lower case. */
  text: guard.optional(guard.string),
  origin: guard.optional(guard.oneOf(...valueOrigins)),
  limit: guard.number,
  /** Values to pass over. */
  skip: guard.number,
})
export type ConfigValueQuery = Guarded<typeof configValueQuery>

/** A value in service. Values are JSON, secrets `***`; long ones are cut. */
const configValue = guard.object({
  /** Dotted, with the name of a list's item in place of its index: `sites.shop.root`. */
  key: guard.string,
  value: guard.string,
  origin: guard.oneOf(...valueOrigins),
  /** "file:line", the name of a variable or option, or the user of an override. */
  place: guard.string,
  /** The value of the files, which takes effect after a restart. Null: it is in service. */
  after_restart: guard.nullable(guard.string),
})
export type ConfigValueFacts = Guarded<typeof configValue>

export const configValuePage = guard.object({
  generation: guard.number,
  values: guard.arrayOf(configValue),
  /** Number of values that the query selects. */
  total: guard.number,
})
export type ConfigValuePage = Guarded<typeof configValuePage>

const siteIds = guard.arrayOf(guard.string)

/** The changes that a reload would make. */
export const reloadPreview = guard.object({
  /** Why a reload would fail; each with its place. */
  errors: guard.arrayOf(guard.string),
  notices: guard.arrayOf(guard.string),
  sites: guard.object({ added: siteIds, removed: siteIds, changed: siteIds }),
  /** Values as JSON, secrets `***`; long ones are cut. Null: there is none. */
  values: guard.arrayOf(
    guard.object({
      key: guard.string,
      before: guard.nullable(guard.string),
      after: guard.nullable(guard.string),
      needs_restart: guard.boolean,
    }),
  ),
  /** Overrides that would end. */
  ending: guard.arrayOf(guard.string),
  /** True if a list is too long to be whole. */
  is_partial: guard.boolean,
})
export type ReloadPreview = Guarded<typeof reloadPreview>
