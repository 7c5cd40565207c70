import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { codeOf } from '@svc/core'
import { tempDir } from '@svc/testkit'
import { ModuleCache } from '../src/caches.ts'
import { SiteCompiler, SiteResolver, type SourceProblem } from '../src/index.ts'

/** A compiler of the site in `root`, with caches of its own. */
export function compilerFor(t: TestContext, root: string, mode: 'production' | 'development' = 'production') {
  const dir = tempDir(t, 'svc-cache')
  const cache = new ModuleCache({ modules: join(dir, 'modules'), index: join(dir, 'compile'), bytecode: join(dir, 'bytecode') })
  const lastGood: string[] = []
  const compiler = new SiteCompiler({
    resolver: new SiteResolver(root),
    cache,
    mode,
    onLastGood: (file) => lastGood.push(file),
  })
  return { compiler, cache, dir, lastGood }
}

/** The problem that a compilation fails with. */
export async function problemOf(promise: Promise<unknown>): Promise<SourceProblem & { code: string | undefined }> {
  try {
    await promise
  } catch (error) {
    const data = (error as { data?: SourceProblem }).data
    return { ...(data as SourceProblem), message: (error as Error).message, code: codeOf(error) }
  }
  return assert.fail('compiled')
}
