import type { LoadedConfig } from '@svc/config'
import { printProblems } from '../command-line/output.ts'
import { configSource, type SourceArgs } from '../command-line/source-options.ts'

/** Loads the configuration that the options mean. Prints every problem and returns undefined when there are any. */
export async function loadOrComplain(args: SourceArgs): Promise<LoadedConfig | undefined> {
  const { loadConfig } = await import('@svc/config')
  const result = await loadConfig(configSource(args))
  if (result.ok) return result
  await printProblems(result.problems)
  return undefined
}
