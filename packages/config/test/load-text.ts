import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type Cleanup, tempDir, writeFiles } from '@svc/testkit'
import { formatProblem, type LoadedConfig, type LoadResult, loadConfig, type MachineProperties } from '../src/index.ts'
import type { ConfigSource } from '../src/load/config-source.ts'

/** A machine that never changes. */
export const testHost: MachineProperties = { cores: 4, hostname: 'Web.Example_1', isTerminal: false }

/** A directory with the given files and a `site` to serve. */
export function configDir(t: Cleanup, files: Readonly<Record<string, string>>): string {
  const dir = tempDir(t, 'svc-config')
  writeFiles(dir, { 'site/app/page.tsx': '', ...files })
  return dir
}

/** Loads `svc.config.toml` of a directory as a plain user. */
export function loadDir(dir: string, changes: Partial<ConfigSource> = {}): Promise<LoadResult> {
  return loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false, ...changes }, testHost)
}

/** Writes a config text into a new directory and loads it. */
export async function loadText(
  t: Cleanup,
  text: string,
  changes: Partial<ConfigSource> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<{ readonly dir: string; readonly result: LoadResult }> {
  const dir = configDir(t, { 'svc.config.toml': text, ...files })
  return { dir, result: await loadDir(dir, changes) }
}

/** Problems as lines, with the directory cut off; empty when there are none. */
export function problemLines(dir: string, result: LoadResult): string[] {
  return result.ok ? [] : result.problems.map((problem) => formatProblem(problem).replaceAll(`${dir}/`, ''))
}

/** The loaded configuration; fails with its problems when there are any. */
export function loaded(result: LoadResult): LoadedConfig {
  if (!result.ok) assert.fail(result.problems.map(formatProblem).join('\n'))
  return result
}

/** Path of a file of this repository. */
export function repositoryFile(name: string): string {
  return join(import.meta.dirname, '../../..', name)
}
