import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLogger } from '@svc/telemetry'
import { tempDir } from '@svc/testkit'
import { ReleaseRecords } from '../src/releases/release-records.ts'

const logger = createLogger({ level: 'silent', format: 'json' })

test('records that are too many to read are kept aside, and no directory counts as left behind', async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'releases.json')
  writeFileSync(file, `{}${' '.repeat(65 * 1024 * 1024)}`)
  const records = await ReleaseRecords.open(dir, logger)
  assert.deepEqual([records.isComplete, records.of('shop')], [false, []])
  assert.ok(existsSync(`${file}.damaged`))
})
