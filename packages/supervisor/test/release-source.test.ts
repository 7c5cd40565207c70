import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOf } from '@svc/core'
import { tempDir, writeFiles } from '@svc/testkit'
import { findSource } from '../src/releases/release-source.ts'

type SourceConfig = Parameters<typeof findSource>[0]

test('the refusal of a source does not tell a tenant which files there are elsewhere', async (t) => {
  const dir = tempDir(t)
  const incoming = join(dir, 'state/incoming/acme')
  mkdirSync(join(incoming, 'release'), { recursive: true })
  writeFiles(dir, { 'secret/there/file': '' })
  symlinkSync(join(dir, 'secret'), join(incoming, 'out'))
  symlinkSync(join(dir, 'secret/there'), join(incoming, 'alive'))
  symlinkSync(join(dir, 'secret/missing'), join(incoming, 'dangling'))
  const config = { server: { state_dir: join(dir, 'state') }, deploy: { sources: [] } } as unknown as SourceConfig
  const outcomeOf = async (source: string) =>
    await findSource(config, `${incoming}/${source}`, 'acme').then(async ({ kind, handle }) => {
      await handle.close()
      return kind
    }, codeOf)
  const elsewhere = ['alive', 'dangling', 'out/there', 'out/missing', 'out/missing/deep', 'out/there/file', '../../../secret']
  for (const source of elsewhere) assert.equal(await outcomeOf(source), 'SOURCE_NOT_ALLOWED', source)
  assert.equal(await outcomeOf('../../../missing'), 'SOURCE_NOT_ALLOWED')
  assert.equal(await outcomeOf('out/../../../../secret'), await outcomeOf('out/../../../../missing'))
  assert.equal(await outcomeOf('release'), 'directory')
  for (const source of ['missing', 'missing/deep', 'release/missing']) {
    assert.equal(await outcomeOf(source), 'SOURCE_INVALID', source)
  }
})

test('a site is served from a directory of the operator, and from a copy of what others may change', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'state/incoming/acme/shop/one/a': '', 'state/incoming/acme/shop/two.tgz': '', 'releases/one/a': '' })
  execFileSync('mkfifo', [join(dir, 'state/incoming/acme/shop/pipe.tar.gz')])
  const sources = [join(dir, 'releases')]
  const config = { server: { state_dir: join(dir, 'state') }, deploy: { sources } } as unknown as SourceConfig
  const find = async (source: string) => {
    const { handle, ...found } = await findSource(config, join(dir, source), undefined)
    await handle.close()
    return [found.kind, found.isInPlace]
  }
  assert.deepEqual(await find('releases/one'), ['directory', true])
  assert.deepEqual(await find('state/incoming/acme/shop/one'), ['directory', false])
  assert.deepEqual(await find('state/incoming/acme/shop/two.tgz'), ['archive', false])
  await assert.rejects(find('state/incoming/acme/shop/pipe.tar.gz'), { code: 'SOURCE_INVALID' })
})
