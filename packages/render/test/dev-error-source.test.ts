import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readEmittedError } from '@svc/guest'
import { tempDir, tempSite } from '@svc/testkit'
import type { RenderTask } from '../src/contract/thread-messages.ts'
import { frameOf, stackFrames } from '../src/dev-error/stack-frames.ts'
import { devErrorAnswer, moduleSource } from '../src/thread/dev-error-answer.ts'
import { mapStack } from '../src/thread/stack-mapper.ts'
import { HostProcess } from './host-process.ts'

const begin = JSON.stringify({ requestId: 'r1', method: 'GET', url: 'http://a.example/' })
const task = { kind: 'page', route: '/', begin } as RenderTask

async function pageFor(stack: string, root: string, isLoaded: (file: string) => boolean): Promise<string> {
  const wire = { code: 'RENDER_FAILED', name: 'RenderError', message: 'm', data: { name: 'Error', message: 'm', stack } }
  const answer = devErrorAnswer(wire, task, { root, mode: 'development', isLoaded })
  assert.ok(answer?.kind === 'complete')
  return String(answer.body)
}

test('the error page reads only files that the isolate has loaded, regardless of the stack', async (t) => {
  const root = realpathSync(tempSite(t, { 'app/page.tsx': 'loaded text', 'svc.config.toml': 'inside secret' }))
  const outside = join(realpathSync(tempDir(t)), 'key.pem')
  writeFileSync(outside, 'outside secret')
  const loaded = new Set([join(root, 'app/page.tsx')])
  for (const file of [outside, join(root, 'svc.config.toml'), '/dev/zero', `${root}/app/../svc.config.toml`]) {
    const html = await pageFor(`Error\n    at f (${file}:1:1)`, root, (id) => loaded.has(id))
    assert.doesNotMatch(html, /secret|<pre/, file)
  }
  assert.match(await pageFor(`Error\n    at f (${root}/app/page.tsx:1:1)`, root, (id) => loaded.has(id)), /loaded text/)
})

test('a source is read only from a regular file of a bounded size below the root, by its real path', async (t) => {
  const root = realpathSync(tempDir(t))
  const outside = join(realpathSync(tempDir(t)), 'outside.ts')
  writeFileSync(outside, 'secret')
  mkdirSync(join(root, 'dir'))
  writeFileSync(join(root, 'dir/own.ts'), 'own')
  writeFileSync(join(root, 'large.ts'), Buffer.alloc(1024 * 1024 + 1))
  symlinkSync(outside, join(root, 'link.ts'))
  symlinkSync(join(root, 'dir'), join(root, 'alias'))
  execFileSync('mkfifo', [join(root, 'fifo.ts')])
  for (const name of ['large.ts', 'link.ts', 'alias/own.ts', 'fifo.ts', 'dir', 'gone.ts']) {
    assert.equal(moduleSource(join(root, name), root), undefined, name)
  }
  assert.equal(moduleSource(outside, root), undefined)
  assert.equal(moduleSource(join(root, 'dir/own.ts'), root), 'own')
})

test('an error from the isolate has bounded fields and no others', () => {
  const long = 'x'.repeat(50_000)
  const error = readEmittedError(
    JSON.stringify({ name: long, message: long, stack: long, digest: long, where: long, file: '/etc/passwd' }),
  )
  assert.deepEqual(Object.keys(error).sort(), ['digest', 'message', 'name', 'stack', 'where'])
  for (const text of Object.values(error)) assert.ok(text.length <= 32_768)
  assert.equal(readEmittedError('{"name":{},"message":7}').name, 'Error')
  for (const json of [undefined, 'null', '[', 'x'.repeat(1_000_000)])
    assert.match(readEmittedError(json).message, /cannot be read/)
})

test('a stack of any text is read in linear time, and to a bounded number of frames', () => {
  const hostile = [`    at ${'/:1:1 ('.repeat(5_000)}`, `    at f (${'/'.repeat(8_000)}`, `    at ${':1'.repeat(4_000)}x`]
  assert.deepEqual(stackFrames(hostile.join('\n')), [])
  const many = `Error\n${'    at f (/site/a.ts:1:1)\n'.repeat(5_000)}`
  let reads = 0
  const mapped = mapStack(many, () => {
    reads++
    return ['AAAA']
  })
  assert.equal(mapped.split('\n').length, 101)
  assert.equal(reads, 1)
  assert.equal(
    mapStack('Error\n    at f (/site/a.ts:0:0)', () => ['AAAA']),
    'Error\n    at f (/site/a.ts:0:0)',
  )
})

test('a frame in a route group is read whole', () => {
  const frame = frameOf('    at async Page (/site/app/(shop)/page.tsx:2:9)')
  assert.deepEqual([frame?.name, frame?.file, frame?.line, frame?.column], ['Page', '/site/app/(shop)/page.tsx', 2, 9])
  assert.equal(frameOf('    at async /site/app/a.ts:1:2')?.file, '/site/app/a.ts')
  assert.equal(frameOf('    at new Promise (<anonymous>)'), undefined)
})

test('code of a site that writes its own stack sees no file in development, and logs no more than a bounded error', async (t) => {
  const secret = join(realpathSync(tempDir(t)), 'secret.txt')
  writeFileSync(secret, 'TOP SECRET\n')
  const root = tempSite(t, {
    'app/page.tsx': `export default () => {
  const error = new Error('x'.repeat(1e6))
  error.stack = 'Error: own\\n    at f (${secret}:1:1)\\n' + '    at g (${secret}:1:1)\\n'.repeat(20_000)
  throw error
}`,
    'app/(group)/own/page.tsx': 'type A = 1\n\nexport default () => {\n  throw new Error("own")\n}',
  })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root, mode: 'development' }] })
  const { status, text } = await host.render('a', '/')
  assert.equal(status, 500)
  assert.doesNotMatch(text, /TOP SECRET/)
  assert.ok(text.length < 100_000, `${text.length}`)
  await host.logged(/Error: own/)
  assert.ok(host.log.length < 100_000, `${host.log.length}`)
  const own = await host.render('a', '/own')
  assert.match(own.text, /<h2>app\/\(group\)\/own\/page\.tsx:4:9<\/h2>/)
  assert.match(own.text, /<mark class="line"><span class="number">\s+4<\/span>/)
})
