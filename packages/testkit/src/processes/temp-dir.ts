import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

/** The part of a test that clean-up hooks into. */
export type Cleanup = Pick<TestContext, 'after'>

/** Directories of tests that have ended. */
const finished: string[] = []

/** Programs of a test end after its directories are removed from it, so the directories go when everything has ended. */
function removeFinished(): void {
  for (const dir of finished) rmSync(dir, { recursive: true, force: true, maxRetries: 10 })
}

/** Makes an empty directory that goes away with the process of the test; `KEEP_TMP=1` keeps it and prints where it is. */
export function tempDir(t: Cleanup, name = 'svc'): string {
  return removeAfter(t, realpathSync(mkdtempSync(join(tmpdir(), `${name}-`))))
}

/** Removes a directory with the process of the test, as `tempDir` does with its own. @returns the directory */
export function removeAfter(t: Cleanup, dir: string): string {
  t.after(() => {
    if (process.env['KEEP_TMP'] === '1') {
      console.error(`kept ${dir}`)
      return
    }
    if (finished.length === 0) process.once('exit', removeFinished)
    finished.push(dir)
  })
  return dir
}

/** Writes files below `dir`, making directories as needed. Keys are relative paths. */
export function writeFiles(dir: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(dir, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
}

/** Makes a site directory with these files. */
export function tempSite(t: Cleanup, files: Readonly<Record<string, string | Uint8Array>>): string {
  const dir = tempDir(t, 'svc-site')
  writeFiles(dir, files)
  return dir
}
