import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Codes of errors raised by `site`. */
export type SiteErrorCode =
  /** `config.matcher` of a middleware is not understood. */
  | 'SITE_BAD_MATCHER'
  /** A pattern is not a regular expression that can be matched in linear time. */
  | 'SITE_BAD_PATTERN'
  /** A directory of a site, or the site, has more files than a scan takes. */
  | 'SITE_TOO_LARGE'
  /** A directory of a site is a link that leads out of the site. */
  | 'SITE_OUTSIDE'

const table = {
  SITE_BAD_MATCHER: { status: 500 },
  SITE_BAD_PATTERN: { status: 500 },
  SITE_TOO_LARGE: {},
  SITE_OUTSIDE: {},
} satisfies ErrorTable<SiteErrorCode>

/** An error of the `site` package. */
export class SiteError extends AppError<SiteErrorCode> {
  constructor(code: SiteErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'SiteError'
  }
}
