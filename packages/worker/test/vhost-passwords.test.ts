import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { PasswordFiles, parsePasswords } from '../src/vhost/passwords/file-auth.ts'
import { quickCheck } from '../src/vhost/passwords/password-check.ts'
import { PasswordThread } from '../src/vhost/passwords/password-thread.ts'
import { slowCheck } from '../src/vhost/passwords/thread-main.ts'
import { VhostServer } from './vhost-server.ts'

/** All of "secret", as `openssl passwd` makes them, and bcrypt. */
const stored = {
  apr1: '$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/',
  md5: '$1$abcdefgh$cHJi5PXp/ki/ktXzqlk6I1',
  sha256: '$5$saltstring$C3o4O1TC6aRHF4FI.QSZMXtHbaj2gSXr4sUc/3NcUi.',
  sha512: '$6$saltstring$AIsRs/Ee56G/tC8MEHhvReZTfx8u3rXXMl6eYrjCG9ibix19DxoMBLogdTET5Ukw9Sf7eZTITsuk0Ry5qulYz.',
  bcrypt: '$2y$05$fMdfX42zA.UIB6RpED2OjuBbAzr8ZbrygqPTWl4JxHa4sEyKG0xrS',
}

function threadOf(t: TestContext, program = '../src/vhost/passwords/thread-main.ts'): PasswordThread {
  const thread = new PasswordThread(new URL(program, import.meta.url))
  t.after(() => thread.close())
  return thread
}

test('passwords of all slow forms are checked', () => {
  for (const [form, hash] of Object.entries(stored)) {
    assert.equal(slowCheck(Buffer.from('secret'), hash), true, form)
    assert.equal(slowCheck(Buffer.from('secre'), hash), false, form)
    assert.equal(slowCheck(Buffer.from('secret'), `${hash.slice(0, -1)}x`), false, form)
  }
  assert.equal(slowCheck(Buffer.from('secret'), 'secret'), false, 'no plain text without its mark')
})

test('passwords of quick forms are checked at once', () => {
  assert.equal(quickCheck(Buffer.from('secret'), '{PLAIN}secret'), true)
  assert.equal(quickCheck(Buffer.from(''), '{PLAIN}'), true)
  assert.equal(quickCheck(Buffer.from('x'), '{PLAIN}'), false)
  assert.equal(quickCheck(Buffer.from('secret'), '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='), true)
  assert.equal(quickCheck(Buffer.from('other'), '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='), false)
  assert.equal(quickCheck(Buffer.from('secret'), '{SHA}short'), false)
  assert.equal(quickCheck(Buffer.from('secret'), '{SSHA}'), false)
  assert.equal(quickCheck(Buffer.from('secret'), stored.apr1), undefined)
})

test('files have a user on each line, and the first of two counts', () => {
  const users = parsePasswords('# a comment\nann:one\n\nno colon\nbob:two:his comment\r\nann:three\n:nobody\n#bob:x\nlast:four')
  assert.deepEqual(
    [...users],
    [
      ['ann', 'one'],
      ['bob', 'two'],
      ['last', 'four'],
    ],
  )
})

test('a file that changes is read again, and one that is missing is an error', (t) => {
  const dir = tempDir(t, 'passwords')
  writeFiles(dir, { users: 'ann:one\n' })
  const files = new PasswordFiles()
  const file = join(dir, 'users')
  const before = files.users(file)
  assert.equal(files.users(file), before, 'it is not read for each request')
  writeFileSync(file, 'ann:two\n')
  utimesSync(file, 1, 1)
  assert.equal(files.users(file).get('ann'), 'two')
  assert.throws(() => files.users(join(dir, 'none')), { code: 'ENOENT' })
})

test('a file that is not regular, or too large, is an error and is not waited for', (t) => {
  const dir = tempDir(t, 'passwords')
  writeFiles(dir, { 'directory/x': '', large: '' })
  execFileSync('mkfifo', [join(dir, 'pipe')])
  truncateSync(join(dir, 'large'), 16 * 1024 * 1024 + 1)
  const files = new PasswordFiles()
  for (const name of ['directory', 'pipe', 'large']) {
    assert.throws(() => files.users(join(dir, name)), { code: 'WORKER_PASSWORD_FILE' }, name)
  }
})

test('a file of passwords that cannot be used lets no request in', async (t) => {
  const names = ['none', 'directory', 'pipe', 'empty', 'none/below']
  const locations = names.map(
    (name) => `location /${name}/ { auth_basic x; auth_basic_user_file {dir}/${name}; root {dir}; try_files /directory/x =404; }`,
  )
  const server = await VhostServer.start(t, 'server { listen {on0}; server_name a.test; }', { 'directory/x': '', empty: '' })
  execFileSync('mkfifo', [join(server.pipeline.dir, 'pipe')])
  await server.reload(`server { listen {on0}; server_name a.test; ${locations.join(' ')} }`)
  const statuses = async (headers: Record<string, string>) => {
    const found: (readonly [string, number])[] = []
    for (const name of names) found.push([name, (await server.get(`/${name}/x`, { headers })).status])
    return found
  }
  const authorization = `Basic ${Buffer.from('ann:one').toString('base64')}`
  assert.deepEqual(
    await statuses({}),
    names.map((name) => [name, 401]),
  )
  assert.deepEqual(await statuses({ authorization }), [
    ['none', 403],
    ['directory', 500],
    ['pipe', 500],
    ['empty', 401],
    ['none/below', 403],
  ])
})

test('a thread that ends fails what waits for it, and the next check has a new one', async (t) => {
  const dir = tempDir(t, 'thread')
  writeFiles(dir, {
    'ends.mjs': "import { parentPort } from 'node:worker_threads'\nparentPort.on('message', () => process.exit(3))\n",
  })
  const ending = new PasswordThread(new URL(`file://${dir}/ends.mjs`))
  t.after(() => ending.close())
  await assert.rejects(ending.check(Buffer.from('a'), stored.md5), { code: 'WORKER_PASSWORD_THREAD' })
  await assert.rejects(ending.check(Buffer.from('a'), stored.md5), { code: 'WORKER_PASSWORD_THREAD' })
  const thread = threadOf(t)
  assert.equal(await thread.check(Buffer.from('secret'), stored.md5), true)
  assert.equal(await thread.check(Buffer.from('secret'), '$2y$broken'), false, 'what is not in its form fits nothing')
})
