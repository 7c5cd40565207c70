import { AppError } from '@svc/core'

/** Why a regular expression cannot be used. Reported with the place of the directive that holds it. */
export class PatternSyntaxError extends AppError<'CONFIG_PATTERN'> {
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super('CONFIG_PATTERN', message, {})
    this.name = 'PatternSyntaxError'
    this.hint = hint
  }
}
