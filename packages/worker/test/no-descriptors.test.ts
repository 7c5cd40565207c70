import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { tempDir, writeFiles } from '@svc/testkit'

const program = fileURLToPath(new URL('no-descriptors.ts', import.meta.url))

test('a file that cannot be opened for want of descriptors is an error, not a missing file', (t) => {
  const root = tempDir(t, 'no-descriptors')
  writeFiles(root, { 'known.txt': 'known', 'new.txt': 'new' })
  const command = 'ulimit -n 96 && exec "$0" --disable-warning=ExperimentalWarning "$1" "$2"'
  const output = execFileSync('sh', ['-c', command, process.execPath, program, root], { encoding: 'utf8' })
  assert.deepEqual(JSON.parse(output), {
    public: 'STATIC_READ_FAILED',
    missing: 'missing',
    web: 'broken',
    webMissing: 'missing',
    isAnswered: true,
    refused: 500,
    after: 'served',
    problems: ['StaticError', 'StaticError', 'StaticError'],
  })
})
