import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MAX_PASSWORD_BYTES, verifyPassword } from '@svc/auth'
import { Child, type Cleanup, PROCESS_WAIT_MS, requireProgram, svcCommand, tempDir, waitFor } from '@svc/testkit'
import { startSvc } from './run-svc.ts'

const ENCODED = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/
const warning = /^warning: other users of this machine can see a password on the command line/

const hash = (t: Cleanup, args: readonly string[], options: Parameters<typeof startSvc>[2] = {}) =>
  startSvc(t, ['config', 'credentials', 'hash', ...args], options)

test('hash warns of a password on the command line, and prints the hash alone', async (t) => {
  const { code, stdout, stderr } = await hash(t, ['--', '0x10'])
  assert.equal(code, 0)
  assert.match(stdout.trimEnd(), ENCODED)
  assert.match(stderr, warning)
  assert.equal(stderr.trimEnd().split('\n').length, 1)
  assert.equal(await verifyPassword(stdout.trimEnd(), '0x10'), 'right')
})

test('without a terminal, hash reads the first line of standard input', async (t) => {
  const longest = 'é'.repeat(MAX_PASSWORD_BYTES / 2)
  const accepted: readonly [input: string, password: string][] = [
    [' with spaces \r\nnext line\n', ' with spaces '],
    ['no line end', 'no line end'],
    [`${longest}\n`, longest],
  ]
  const refused: readonly [input: string | Buffer, message: RegExp][] = [
    ['', /no password: type it at a terminal, or write it to standard input/],
    ['\nsecond\n', /no password/],
    [`${longest}x\n`, /a password has at most 1024 bytes/],
    ['x'.repeat(1_000_000), /a password has at most 1024 bytes/],
    [Buffer.from('caf\xe9\n', 'latin1'), /the password is not valid UTF-8/],
  ]
  const outcomes = await Promise.all([...accepted, ...refused].map(([input]) => hash(t, [], { input })))
  for (const [index, { code, stdout, stderr }] of outcomes.entries()) {
    const [, password] = accepted[index] ?? []
    const [, message] = refused[index - accepted.length] ?? []
    assert.deepEqual([code, stdout === ''], [password === undefined ? 64 : 0, password === undefined], stderr)
    assert.match(stderr, message ?? /^$/)
    if (password !== undefined) assert.equal(await verifyPassword(stdout.trimEnd(), password), 'right')
  }
})

/**
 * Runs `svc config credentials hash` at a terminal and types. Its standard output goes to a file. Returns all that the terminal
 * showed; the last lines are the exit code and the settings of the terminal afterwards. Undefined: the test is skipped.
 */
async function atTerminal(t: TestContext, typed: readonly [prompt: string, keys: string][]) {
  const script = requireProgram(t, 'script')
  if (script === undefined) return undefined
  const dir = tempDir(t)
  const command = `stty sane; "${svcCommand}" config credentials hash > hash.txt; echo "exit $?"; stty -a`
  const child = new Child(t, script, ['--quiet', '--command', command, '/dev/null'], {
    cwd: dir,
    env: process.env,
    stdin: 'pipe',
  })
  for (const [prompt, keys] of typed) {
    await waitFor(`the prompt "${prompt}"`, () => child.stdout.includes(prompt), PROCESS_WAIT_MS)
    child.process.stdin?.write(keys)
  }
  await child.exited
  return { shown: child.stdout.replaceAll('\r', ''), hash: readFileSync(join(dir, 'hash.txt'), 'utf8').trimEnd() }
}

/** Asserts the exit code, and that the terminal shows keys and joins them to lines as before. */
function assertEnd(shown: string, code: number): void {
  assert.match(shown, new RegExp(`^exit ${code}$`, 'm'))
  assert.match(shown, /(?<!-)\bicanon\b/)
  assert.match(shown, /(?<!-)\becho\b/)
}

test('at a terminal, hash asks twice, and does not show the password', async (t) => {
  const result = await atTerminal(t, [
    ['Password: ', 'sesanx\u007fe\r'],
    ['Repeat the password: ', 'sesane\r'],
  ])
  if (result === undefined) return
  assertEnd(result.shown, 0)
  assert.doesNotMatch(result.shown, /sesan/)
  assert.equal(await verifyPassword(result.hash, 'sesane'), 'right')
})

test('at a terminal, both lines may be pasted at once', async (t) => {
  const result = await atTerminal(t, [['Password: ', 'sesame\rsesame\r']])
  if (result === undefined) return
  assertEnd(result.shown, 0)
  assert.equal(await verifyPassword(result.hash, 'sesame'), 'right')
})

test('at a terminal, passwords that differ and none at all are refused', async (t) => {
  const different = await atTerminal(t, [['Password: ', 'one\rother\r']])
  const none = await atTerminal(t, [['Password: ', '\u0004']])
  if (different === undefined || none === undefined) return
  assertEnd(different.shown, 64)
  assert.match(different.shown, /svc: the passwords differ; nothing was printed/)
  assertEnd(none.shown, 64)
  assert.match(none.shown, /svc: no password/)
  assert.deepEqual([different.hash, none.hash], ['', ''])
})

test('Ctrl-C at the prompt restores the terminal and exits 130', async (t) => {
  const result = await atTerminal(t, [
    ['Password: ', 'half\r'],
    ['Repeat the password: ', 'ha\u0003'],
  ])
  if (result === undefined) return
  assertEnd(result.shown, 130)
  assert.match(result.shown, /svc: interrupted/)
  assert.equal(result.hash, '')
})
