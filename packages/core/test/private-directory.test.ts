import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, lchownSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Child, requireRoot, tempDir } from '@svc/testkit'
import { openPrivateDirectory, unsafeReason } from '../src/index.ts'

/** The user that owns nothing, by its number on every Linux system. */
const NOBODY = 65_534
const modeOf = (path: string) => statSync(path).mode & 0o7777

async function take(path: string): Promise<void> {
  const handle = await openPrivateDirectory(path)
  await handle.close()
}

/** A directory with a mode, whatever the umask. */
function makeDir(path: string, mode: number): string {
  mkdirSync(path)
  chmodSync(path, mode)
  return path
}

const unsafe = (message: RegExp) => ({ code: 'CORE_UNSAFE_DIRECTORY', message })

test('missing directories are created for their owner alone, and permissions of others are removed', async (t) => {
  const dir = tempDir(t)
  await take(join(dir, 'a/b/c'))
  for (const path of ['a', 'a/b', 'a/b/c']) assert.equal(modeOf(join(dir, path)), 0o700, path)
  await take(makeDir(join(dir, 'readable'), 0o755))
  await take(makeDir(join(dir, 'open'), 0o777))
  assert.deepEqual([modeOf(join(dir, 'readable')), modeOf(join(dir, 'open'))], [0o700, 0o700])
})

test('files in a directory that others could write are not trusted, on no further try either', async (t) => {
  const open = makeDir(join(tempDir(t), 'open'), 0o775)
  writeFileSync(join(open, 'planted'), '')
  for (let round = 0; round < 2; round++) {
    await assert.rejects(take(open), unsafe(/open can be written by others \(mode 775\) and is not empty; .*chmod 700/))
    assert.equal(modeOf(open), 0o775)
  }
})

test('links, files and pipes in place of a directory are refused and left alone', async (t) => {
  const dir = tempDir(t)
  const target = makeDir(join(dir, 'target'), 0o755)
  symlinkSync(target, join(dir, 'link'))
  symlinkSync(join(dir, 'nothing'), join(dir, 'dangling'))
  writeFileSync(join(dir, 'file'), '')
  execFileSync('mkfifo', [join(dir, 'pipe')])
  await assert.rejects(take(join(dir, 'link')), unsafe(/link is a symbolic link to .*target; remove it/))
  await assert.rejects(take(join(dir, 'dangling')), unsafe(/is a symbolic link to .*nothing/))
  for (const name of ['file', 'pipe']) await assert.rejects(take(join(dir, name)), unsafe(/is not a directory; remove it/))
  await assert.rejects(take(join(dir, 'pipe/below')), unsafe(/pipe is not a directory/))
  assert.equal(modeOf(target), 0o755)
  assert.deepEqual(readdirSync(dir).sort(), ['dangling', 'file', 'link', 'pipe', 'target'])
})

test('parent directories may be links of the user, but not circular links', async (t) => {
  const dir = tempDir(t)
  makeDir(join(dir, 'real'), 0o755)
  symlinkSync('real', join(dir, 'link'))
  symlinkSync('circle', join(dir, 'circle'))
  await take(join(dir, 'link/../link/own'))
  assert.equal(modeOf(join(dir, 'real/own')), 0o700)
  await assert.rejects(take(join(dir, 'circle/own')), unsafe(/too many symbolic links/))
})

test('above, others may write only where the sticky bit protects names', async (t) => {
  const dir = tempDir(t)
  const open = makeDir(join(dir, 'open'), 0o777)
  await assert.rejects(take(join(open, 'own')), unsafe(/open can be written by every user \(mode 777\).*chmod o-w/))
  assert.deepEqual(readdirSync(open), [])
  assert.match((await unsafeReason(open)) ?? '', /can be written by every user/)
  chmodSync(open, 0o1777)
  await take(join(open, 'own'))
  assert.equal(await unsafeReason(join(open, 'own')), undefined)
  assert.equal(await unsafeReason(join(open, 'missing/below')), undefined)
})

/** A shared directory as /tmp, that every user may write. */
function sharedDir(t: TestContext): string {
  const dir = tempDir(t)
  chmodSync(dir, 0o755)
  return makeDir(join(dir, 'shared'), 0o1777)
}

test('directories and links of other users are refused, and nothing is changed through them', async (t) => {
  if (!requireRoot(t)) return
  const shared = sharedDir(t)
  const foreign = makeDir(join(shared, 'foreign'), 0o755)
  chownSync(foreign, NOBODY, NOBODY)
  const target = makeDir(join(shared, 'target'), 0o755)
  symlinkSync(target, join(shared, 'link'))
  lchownSync(join(shared, 'link'), NOBODY, NOBODY)
  await assert.rejects(take(foreign), unsafe(/foreign belongs to user 65534, and this process runs as user 0; remove it/))
  await assert.rejects(take(join(foreign, 'own')), unsafe(/foreign belongs to user 65534, who could replace/))
  await assert.rejects(take(join(shared, 'link')), unsafe(/is a symbolic link/))
  await assert.rejects(take(join(shared, 'link/own')), unsafe(/link belongs to user 65534/))
  assert.deepEqual([modeOf(foreign), modeOf(target), readdirSync(foreign), readdirSync(target)], [0o755, 0o755, [], []])
  const ofGroup = makeDir(join(shared, 'group'), 0o775)
  chownSync(ofGroup, 0, NOBODY)
  await assert.rejects(take(join(ofGroup, 'own')), unsafe(/can be written by group 65534 \(mode 775\).*chmod g-w/))
})

test('a faster user cannot get a directory changed, regardless of who creates a name first', async (t) => {
  if (!requireRoot(t)) return
  const shared = sharedDir(t)
  const target = makeDir(join(shared, 'target'), 0o755)
  const rounds = 200
  const program = `const { symlinkSync, rmSync } = require('node:fs')
process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY})
console.log('ready')
setImmediate(() => {
  for (let round = 0; round < ${rounds}; round++) {
    const name = ${JSON.stringify(`${shared}/`)} + round
    try { symlinkSync(${JSON.stringify(target)}, name); rmSync(name); symlinkSync(${JSON.stringify(target)}, name) } catch {}
  }
  console.log('done')
})`
  const rival = new Child(t, process.execPath, ['-e', program])
  await rival.waitForLine('the start', (line) => line === 'ready')
  let taken = 0
  for (let round = rounds - 1; round >= 0; round--) {
    const path = join(shared, String(round))
    // Refused, or the link was removed in the middle of it.
    const handle = await openPrivateDirectory(path).catch(() => undefined)
    if (handle === undefined) continue
    taken++
    const { uid, mode } = await handle.stat()
    assert.deepEqual([uid, mode & 0o777], [0, 0o700])
    await handle.close()
  }
  await rival.waitForLine('the end', (line) => line === 'done')
  assert.equal(modeOf(target), 0o755)
  assert.deepEqual(readdirSync(target), [])
  t.diagnostic(`${taken} of ${rounds} names were free`)
})
