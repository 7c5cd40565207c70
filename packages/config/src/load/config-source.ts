import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Variables } from '../source/env-overrides.ts'

/** The source of a configuration. */
export interface ConfigSource {
  /** Config file, relative to `cwd`. Without it: SVC_CONFIG, then the usual places. */
  readonly file?: string
  /** Used in place of the content of the config file, which need not exist. */
  readonly text?: string
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

const FILE_NAME = 'svc.config.toml'

/** Returns true if a path exists, or with `mode` of node:fs, if this user has that right to it. */
export function canAccess(path: string, mode?: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}

/** Returns the paths of possible config files: the one that was named, or the usual ones in order. */
export function candidateFiles(source: ConfigSource): readonly string[] {
  const named = source.file ?? source.platform ?? (source.env.SVC_CONFIG || undefined)
  if (named !== undefined) return [resolve(source.cwd, named)]
  return [join(source.cwd, FILE_NAME), join('/etc/svc', FILE_NAME)]
}

/** Returns the absolute path of the first candidate that exists, or undefined. */
export async function findConfigFile(source: ConfigSource): Promise<string | undefined> {
  for (const file of candidateFiles(source)) if (await canAccess(file)) return file
  return undefined
}
