import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'

/** Codes of errors raised by `site`. */
export type SiteErrorCode =
  /** `config.matcher` of a middleware is not understood. */
  | 'SITE_BAD_MATCHER'
  /** A pattern is not a regular expression that can be matched in linear time. */
  | 'SITE_BAD_PATTERN'

const table = {
  SITE_BAD_MATCHER: { status: 500 },
  SITE_BAD_PATTERN: { status: 500 },
} satisfies ErrorTable<SiteErrorCode>

/** An error of the `site` package. */
export class SiteError extends AppError<SiteErrorCode> {
  constructor(code: SiteErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'SiteError'
  }
}
