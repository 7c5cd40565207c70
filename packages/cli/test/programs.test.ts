import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPrograms } from '../src/programs.ts'

test('a bundled command line starts the bundles beside it', () => {
  const expected = { worker: '/opt/svc/dist/worker.js', renderHost: '/opt/svc/dist/render-host.js' }
  assert.deepEqual(findPrograms('/opt/svc/dist/cli.js'), expected)
  assert.deepEqual(findPrograms('/opt/svc/dist/chunks/run-cli-ABC.js'), expected)
})

test('a command line that runs from its source starts the sources', () => {
  assert.deepEqual(findPrograms('/opt/svc/packages/cli/src/programs.ts'), {
    worker: '/opt/svc/packages/worker/src/main.ts',
    renderHost: '/opt/svc/packages/render/src/host/main.ts',
  })
})
