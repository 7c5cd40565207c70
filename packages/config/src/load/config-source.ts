import type { Variables } from '../source/env-overrides.ts'

/** Where a configuration comes from. */
export interface ConfigSource {
  /** Config file, relative to `cwd`. Without it: SVC_CONFIG, then the usual places. */
  readonly file?: string
  /** One site and no config file. `dir` is relative to `cwd`. */
  readonly standalone?: { readonly dir: string; readonly production: boolean }
  /** Platform file with `[[apps]]`, relative to `cwd`. Without `file` it is the config file as well. */
  readonly platform?: string
  /** Overrides `server.listen`. */
  readonly listen?: string
  readonly env: Variables
  readonly cwd: string
  readonly isRoot: boolean
}
