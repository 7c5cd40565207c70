import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { loaded, loadText, problemLines } from './load-text.ts'

const long = 'a secret of more than thirty-two bytes'

test('references without a target are problems', async (t) => {
  const toml = '[admin]\njwt_secret = "env:MISSING"\n[redis]\nurl = "file:missing.txt"\n'
  const { dir, result } = await loadText(t, toml)
  assert.deepEqual(problemLines(dir, result), [
    'svc.config.toml:2:1: admin.jwt_secret: environment variable MISSING is not set',
    'svc.config.toml:4:1: redis.url: cannot read secret file missing.txt (no such file)',
  ])
})

test('a secret is read from a regular file of bounded size: a pipe without a writer holds nothing up', async (t) => {
  const fifo = join(tempDir(t), 'secret')
  execFileSync('mkfifo', [fifo])
  const toml = `[admin]\njwt_secret = "file:${fifo}"\n[redis]\nurl = "file:long.txt"\n`
  const { dir, result } = await loadText(t, toml, {}, { 'long.txt': 'x'.repeat(64 * 1024 + 1) })
  const [pipe, long] = problemLines(dir, result)
  assert.match(pipe ?? '', /admin\.jwt_secret: cannot read secret file .*regular file/)
  assert.match(long ?? '', /redis\.url: cannot read secret file long\.txt .*65536/)
})

test('the target of a reference is checked like a literal', async (t) => {
  const { dir, result } = await loadText(t, '[admin]\njwt_secret = "env:SHORT"\n', { env: { SHORT: 'short' } })
  assert.deepEqual(problemLines(dir, result), ['svc.config.toml:2:1: admin.jwt_secret: must have at least 32 bytes'])
})

test('secrets come from the environment, from [env], from .env and from files', async (t) => {
  const toml = [
    '[admin]\njwt_secret = "env:JWT"',
    '[[admin.users]]\nusername = "a"\npassword_hash = "file:hash.txt"\nrole = "viewer"',
    '[redis]\nurl = "env:REDIS"',
    `[env]\nREDIS = "redis://from-env-table"\nJWT = "${'x'.repeat(40)}"\n`,
  ].join('\n')
  const files = { 'hash.txt': '$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA\n', '.env': 'REDIS=redis://from-dotenv\n' }
  const { dir, result } = await loadText(t, toml, { env: { JWT: long } }, files)
  const { config, files: read } = loaded(result)
  assert.equal(config.admin.jwt_secret, long)
  assert.equal(config.admin.users[0]?.password_hash, '$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA')
  assert.equal(config.redis.url, 'redis://from-env-table')
  assert.deepEqual(read, [`${dir}/svc.config.toml`, `${dir}/.env`, `${dir}/hash.txt`])
})

test('a key that is no secret keeps a text that looks like a reference', async (t) => {
  const { result } = await loadText(t, '[redis]\nkey_prefix = "env:PREFIX"\n')
  assert.equal(loaded(result).config.redis.key_prefix, 'env:PREFIX')
})
