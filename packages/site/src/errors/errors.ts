import { errorClass } from '@svc/core'

/** An error of the `site` package. */
export const SiteError = errorClass('SiteError', {
  /** `config.matcher` of a middleware is not understood. */
  SITE_BAD_MATCHER: { status: 500 },
  /** A pattern is not a regular expression that can be matched in linear time. */
  SITE_BAD_PATTERN: { status: 500 },
  /** A directory of a site, or the site, has more files than a scan takes. */
  SITE_TOO_LARGE: {},
  /** A directory of a site is a link that leads out of the site. */
  SITE_OUTSIDE: {},
})
export type SiteError = InstanceType<typeof SiteError>
