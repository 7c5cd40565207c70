import assert from 'node:assert/strict'
import { existsSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Child, fetchHttp, svcCommand, tempDir, writeFiles } from '@svc/testkit'

test('a site in a deep directory is served, found again by --dir and from within, and stopped', async (t) => {
  const dir = join(tempDir(t), 'a-directory-with-a-long-name/'.repeat(4), 'site')
  writeFiles(dir, { 'app/page.tsx': 'export default function Page() { return <h1>deep</h1> }\n' })
  const server = new Child(t, svcCommand, ['serve', dir, '--listen', '127.0.0.1:0'])
  const line = await server.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  const { listen, pid } = JSON.parse(line) as { listen: string[]; pid: number }
  assert.match((await fetchHttp(`${listen[0]}/`)).text, /deep/)

  const status = new Child(t, svcCommand, ['status', '--json'], { cwd: dir })
  assert.equal((await status.exited).code, 0, status.stderr)
  assert.equal(JSON.parse(status.stdout).pid, pid)
  assert.ok(readdirSync(join(dir, '.svc/cache/modules')).length > 0)

  const second = new Child(t, svcCommand, ['serve', dir, '--listen', '127.0.0.1:0'])
  assert.equal((await second.exited).code, 69)
  const runDir = /run directory (\/tmp\/svc-\S+)/.exec(second.stderr)?.[1] ?? ''
  assert.equal(dirname(runDir), '/tmp', second.stderr)
  t.after(() => rmSync(runDir, { recursive: true, force: true }))
  assert.equal(lstatSync(runDir).mode & 0o777, 0o700)

  const stop = new Child(t, svcCommand, ['stop', '--dir', dir])
  assert.equal((await stop.exited).code, 0, stop.stderr)
  assert.deepEqual(await server.exited, { code: 0, signal: null })
  assert.equal(existsSync(join(runDir, 'svc.pid')), false)
})
