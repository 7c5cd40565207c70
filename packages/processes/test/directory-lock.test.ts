import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Child, type Cleanup, tempDir } from '@svc/testkit'
import { holdDirectory, holdSite, lockDirectory } from '../src/directories/directory-lock.ts'

async function letGo(server: Server | undefined): Promise<void> {
  assert.ok(server)
  const closed = once(server, 'close')
  server.close()
  await closed
}

const modulePath = new URL('../src/directories/directory-lock.ts', import.meta.url).href

/** A process that holds a directory. */
async function holderOf(t: Cleanup, dir: string): Promise<Child> {
  const program = `const { holdDirectory } = await import(${JSON.stringify(modulePath)})
const holder = await holdDirectory('run', ${JSON.stringify(dir)})
console.log(holder === undefined ? 'refused' : 'held')
holder?.ref()`
  const child = new Child(t, process.execPath, ['--input-type=module', '-e', program])
  assert.equal(await child.waitForLine('the lock', () => true), 'held')
  return child
}

describe('the sole right to a directory', () => {
  test('is held once, apart for each use and site, under every name of the directory', async (t) => {
    const dir = tempDir(t, 'lock')
    const long = join(dir, 'l'.repeat(120))
    mkdirSync(long)
    symlinkSync(long, join(dir, 'link'))
    const held = await Promise.all([
      holdDirectory('run', long),
      holdDirectory('state', long),
      holdSite(long, 'a'),
      holdSite(long, 'b'),
    ])
    assert.ok(held.every((one) => one !== undefined))
    assert.equal(await holdDirectory('run', join(dir, 'link')), undefined)
    assert.equal(await holdSite(long, 'a'), undefined)
    await assert.rejects(lockDirectory('state', long, 'server.state_dir'), { code: 'SUP_DIRECTORY_TAKEN' })
    await letGo(held[0])
    await letGo(await holdDirectory('run', long))
    await Promise.all(held.slice(1).map(letGo))
  })

  test('is free as soon as its holder has ended, also by a kill, and leaves one file behind', async (t) => {
    const dir = tempDir(t, 'lock')
    for (let round = 1; round <= 3; round++) {
      const holder = await holderOf(t, dir)
      assert.equal(await holdDirectory('run', dir), undefined)
      await holder.kill()
      await letGo(await holdDirectory('run', dir))
    }
    assert.deepEqual(readdirSync(dir), ['run.lock.6'])
  })

  test('goes to one of many who ask at the same time, after a holder that was killed', async (t) => {
    const dir = tempDir(t, 'lock')
    const holder = await holderOf(t, dir)
    await holder.kill()
    for (let round = 0; round < 20; round++) {
      const all = await Promise.all(Array.from({ length: 12 }, () => holdDirectory('run', dir)))
      const held = all.filter((one) => one !== undefined)
      assert.equal(held.length, 1, `round ${round}`)
      await letGo(held[0])
      assert.equal(readdirSync(dir).length, 1)
    }
  })

  test('cannot be taken by users who may not enter the directory', async (t) => {
    const dir = tempDir(t, 'lock')
    // The names that anybody on the machine can make up, and bind first.
    const digest = createHash('sha256').update(realpathSync(dir)).digest('hex').slice(0, 32)
    const squatters = ['svc', 'svc-run', 'svc-state'].map((prefix) =>
      createServer().listen({ path: `\0${prefix}-${process.getuid?.() ?? 0}-${digest}` }),
    )
    t.after(() => Promise.all(squatters.map((one) => one.close())))
    await Promise.all(squatters.map((one) => once(one, 'listening')))
    await letGo(await holdDirectory('run', dir))
    await letGo(await holdDirectory('state', dir))
  })

  test('reports the obstacle when it cannot be taken, and ignores a file of its name', async (t) => {
    const dir = tempDir(t, 'lock')
    writeFileSync(join(dir, 'run.lock.7'), 'no socket')
    await letGo(await holdDirectory('run', dir))
    assert.deepEqual(readdirSync(dir), ['run.lock.8'])
    await assert.rejects(holdDirectory('run', join(dir, 'none')), { code: 'SUP_DIRECTORY', message: /failed to create a lock/ })
  })
})
