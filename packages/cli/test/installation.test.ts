import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { findPrograms, installation, lastingInstallation, shellWord } from '../src/command-line/installation.ts'

test('the installation is found from a bundle, from code that bundles share, and from the source', () => {
  assert.equal(installation('/opt/svc/dist/cli.js'), '/opt/svc')
  assert.equal(installation('/opt/svc/dist/chunks/new-ABC.js'), '/opt/svc')
  assert.equal(installation('/opt/svc/packages/cli/src/command-line/installation.ts'), '/opt/svc')
})

test('a unit names the link to a release in service, and any other installation itself', async (t) => {
  const root = realpathSync(tempDir(t))
  mkdirSync(join(root, 'releases/1'), { recursive: true })
  mkdirSync(join(root, 'releases/2'))
  symlinkSync('releases/1', join(root, 'current'))
  assert.equal(await lastingInstallation(join(root, 'releases/1')), join(root, 'current'))
  assert.equal(await lastingInstallation(join(root, 'releases/2')), join(root, 'releases/2'))
  assert.equal(await lastingInstallation('/opt/svc'), '/opt/svc')
})

test('a shell takes a text as one word', () => {
  assert.equal(shellWord('../my-site_2.0'), '../my-site_2.0')
  assert.equal(shellWord("My Site's"), "'My Site'\\''s'")
  assert.equal(shellWord(''), "''")
})
test('a bundled command line starts the bundles beside it', () => {
  const expected = {
    worker: '/opt/svc/dist/worker.js',
    renderHost: '/opt/svc/dist/render-host.js',
    configCheck: '/opt/svc/dist/config-check.js',
    unpack: '/opt/svc/dist/unpack.js',
  }
  assert.deepEqual(findPrograms('/opt/svc/dist/cli.js'), expected)
  assert.deepEqual(findPrograms('/opt/svc/dist/chunks/run-cli-ABC.js'), expected)
})

test('a command line that runs from its source starts the sources', () => {
  assert.deepEqual(findPrograms('/opt/svc/packages/cli/src/command-line/installation.ts'), {
    worker: '/opt/svc/packages/worker/src/main.ts',
    renderHost: '/opt/svc/packages/render/src/host/main.ts',
    configCheck: '/opt/svc/packages/supervisor/src/config-check/main.ts',
    unpack: '/opt/svc/packages/supervisor/src/releases/unpack/main.ts',
  })
})
