import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, waitFor } from '@svc/testkit'
import { LineQueue, LogFile } from '../src/index.ts'

const indexUrl = JSON.stringify(new URL('../src/index.ts', import.meta.url).href)

test('a file is created for its owner and group, and appended to if it is there', async (t) => {
  const dir = tempDir(t, 'svc-log')
  const path = join(dir, 'new.log')
  const file = await LogFile.open(path)
  file.close()
  assert.equal(statSync(path).mode & 0o777, 0o640 & ~process.umask())
  writeFileSync(path, 'old\n', { mode: 0o600 })
  const queue = new LineQueue({ sink: await LogFile.open(path) })
  queue.append(Buffer.from('new\n'))
  await queue.close(60_000)
  assert.equal(readFileSync(path, 'utf8'), 'old\nnew\n')
})

test('links, pipes and directories are not written to', async (t) => {
  const dir = tempDir(t, 'svc-log')
  writeFileSync(join(dir, 'target'), '')
  symlinkSync(join(dir, 'target'), join(dir, 'link'))
  mkdirSync(join(dir, 'directory'))
  spawnSync('mkfifo', [join(dir, 'pipe')])
  await assert.rejects(LogFile.open(join(dir, 'link')), { code: 'ELOOP' })
  await assert.rejects(LogFile.open(join(dir, 'directory')), { code: 'EISDIR' })
  await assert.rejects(LogFile.open(join(dir, 'pipe')), { code: 'ENXIO' })
  await assert.rejects(LogFile.open('/dev/null'), { code: 'ENOTREG' })
})

test('while files are moved away, each line is in one of them, once and in order', async (t) => {
  const dir = tempDir(t, 'svc-log')
  const path = join(dir, 'a.log')
  const file = await LogFile.open(path)
  const queue = new LineQueue({ sink: file })
  const old: string[] = []
  let lines = 0
  for (let round = 0; round < 20; round++) {
    // More than one write takes: they do not wait for further ones.
    for (let i = 0; i < 1000; i++) queue.append(Buffer.from(`${lines++} ${'x'.repeat(i % 200)}\n`))
    renameSync(path, join(dir, `a.log.${round}`))
    old.push(join(dir, `a.log.${round}`))
    // Not awaited: the write of this round is in flight.
    const reopened = file.reopen()
    queue.append(Buffer.from(`${lines++}\n`))
    await reopened
  }
  await queue.close(60_000)
  const texts = [...old, path].map((each) => readFileSync(each, 'utf8'))
  assert.ok(texts.filter((text) => text !== '').length > 5, 'the lines are in several files')
  const numbers = texts
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.split(' ')[0]))
  assert.deepEqual(
    numbers,
    Array.from({ length: lines }, (_, i) => i),
  )
})

test('a path that cannot be opened again keeps its file', async (t) => {
  const dir = tempDir(t, 'svc-log')
  const path = join(dir, 'a.log')
  const file = await LogFile.open(path)
  const queue = new LineQueue({ sink: file })
  renameSync(path, join(dir, 'moved'))
  mkdirSync(path)
  await assert.rejects(file.reopen(), { code: 'EISDIR' })
  queue.append(Buffer.from('kept\n'))
  await waitFor('the line', () => readFileSync(join(dir, 'moved'), 'utf8') === 'kept\n')
  rmdirSync(path)
  await file.reopen()
  queue.append(Buffer.from('new\n'))
  await queue.close(60_000)
  assert.equal(readFileSync(path, 'utf8'), 'new\n')
})

test('a file that has no more room ends with a whole line; after a rotation no line is missing and none is there twice', (t) => {
  const dir = tempDir(t, 'svc-log')
  const path = join(dir, 'a.log')
  // The system cuts a write at the limit and refuses the next one, as on a full disk.
  const program = `
    import { renameSync, statSync } from 'node:fs'
    import { LineQueue, LogFile } from ${indexUrl}
    const [path] = process.argv.slice(-1)
    const file = await LogFile.open(path)
    const queue = new LineQueue({ sink: { maxBytes: 64 * 1024, close: () => file.close(), write: (bytes, done) =>
      file.write(bytes, (error, written) => {
        done(error, written)
        if (error !== null) full.resolve(error.code)
      }) } })
    const full = Promise.withResolvers()
    for (let i = 0; i < 100; i++) queue.append(Buffer.from(String(i).padEnd(150, 'x') + '\\n'))
    console.log(await full.promise)
    renameSync(path, path + '.1')
    await file.reopen()
    await queue.close(30_000)
    console.log(queue.droppedLines)
  `
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program, path]
  const command = 'ulimit -f 8; exec "$0" "$@"'
  const { stdout, stderr } = spawnSync('bash', ['-c', command, process.execPath, ...flags], { encoding: 'utf8' })
  assert.match(stdout, /^(EFBIG|ENOSPC)\n0\n$/, stderr)
  assert.ok(existsSync(path))
  const [first, second] = [readFileSync(`${path}.1`, 'utf8'), readFileSync(path, 'utf8')]
  assert.ok(first.endsWith('\n') && first.length > 4000 && second.length > 4000)
  const lines = (first + second).trimEnd().split('\n')
  assert.deepEqual(
    lines,
    Array.from({ length: 100 }, (_, i) => String(i).padEnd(150, 'x')),
  )
})
