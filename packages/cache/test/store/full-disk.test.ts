import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Child, tempDir } from '@svc/testkit'
import type { FullDiskReport } from './full-disk-program.ts'
import { openStore, roomy } from './store-fixture.ts'

const program = fileURLToPath(new URL('./full-disk-program.ts', import.meta.url))

/** Runs the program with files of at most so many bytes: writing more fails as on a full disk. */
async function fill(t: TestContext, cacheDir: string, fileBytes: number): Promise<FullDiskReport> {
  const script = `ulimit -f ${fileBytes / 512}; exec "$0" "$@"`
  const args = ['-c', script, process.execPath, '--disable-warning=ExperimentalWarning', program, cacheDir]
  const child = new Child(t, 'sh', args)
  const line = await child.waitForLine('the report', (text) => text.startsWith('{'))
  const exit = await child.exited
  assert.deepEqual(exit, { code: 0, signal: null }, child.stderr)
  return JSON.parse(line)
}

describe('a full disk', () => {
  it('costs what does not fit, and nothing that was stored', async (t) => {
    const cacheDir = tempDir(t)
    const report = await fill(t, cacheDir, 2 << 20)
    assert.ok(report.stored > 50 && report.refused > 50, JSON.stringify(report))
    assert.deepEqual([report.problem, report.lostWrites, report.whole], [null, report.refused, report.stored])
    // Purged, or refused and so still in the store: never half of it.
    assert.ok(report.purged === null || report.purged === report.stored, JSON.stringify(report))
    const store = await openStore(t, roomy(cacheDir))
    assert.equal(store.damage, undefined)
    assert.equal(store.room.size().entries, report.purged === null ? report.stored : 0)
  })

  it('turns the store off when not even an empty one fits', async (t) => {
    const report = await fill(t, tempDir(t), 64 << 10)
    assert.match(report.problem ?? '', /EFBIG/)
    assert.deepEqual([report.stored, report.refused, report.purged], [0, 600, 0])
  })
})
