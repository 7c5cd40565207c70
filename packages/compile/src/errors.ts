import { errorClass } from '@svc/core'

/** An error of the `compile` package. */
export const CompileError = errorClass('CompileError', {
  /** A module does not parse or uses a feature that the platform does not have. `data`: `SourceProblem`. */
  RENDER_COMPILE: { status: 500 },
  /** An import leads to no file, to a Node built-in or out of the site's directory. `data`: `SourceProblem`. */
  RENDER_RESOLVE: { status: 500 },
})
export type CompileError = InstanceType<typeof CompileError>
