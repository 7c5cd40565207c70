import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ConfigSource } from './config-source.ts'

const FILE_NAME = 'svc.config.toml'

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** Where a config file may be: the one that was asked for, or the usual places in order. */
export function candidateFiles(source: ConfigSource): readonly string[] {
  const named = source.file ?? source.platform ?? (source.env.SVC_CONFIG || undefined)
  if (named !== undefined) return [resolve(source.cwd, named)]
  return [join(source.cwd, FILE_NAME), join('/etc/svc', FILE_NAME)]
}

/** Returns the absolute path of the first candidate that exists, or undefined. */
export async function findConfigFile(source: ConfigSource): Promise<string | undefined> {
  for (const file of candidateFiles(source)) if (await exists(file)) return file
  return undefined
}
