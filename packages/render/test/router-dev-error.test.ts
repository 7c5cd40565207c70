import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeFrame, type DevErrorInput, devErrorPage } from '../src/dev-error/dev-error-page.ts'
import { frameToShow, stackFrames } from '../src/dev-error/stack-frames.ts'

const stack = [
  'TypeError: cannot read <b>',
  '    at render (/site/node_modules/pkg/index.js:3:7)',
  '    at async Page (/site/app/page.tsx:2:9)',
  '    at file:///site/app/a (b).ts:1:1',
  '    at new Promise (<anonymous>)',
].join('\n')

function input(change: Partial<DevErrorInput> = {}): DevErrorInput {
  return {
    error: { name: 'TypeError', message: 'cannot read <b>', stack, digest: 'abc' },
    root: '/site',
    source: 'const a = 1\nconst b = </script><x>\n',
    request: { method: 'GET', url: 'http://h/?q="><img src=x onerror=alert(1)>', requestId: 'r1' },
    ...change,
  }
}

test('everything that comes from outside is escaped and there is no script', () => {
  const html = devErrorPage(input({ error: { name: '<i>', message: '</title><script>alert(1)</script>\0', stack } }))
  assert.doesNotMatch(html, /<script|<img|<i>|<x>|\0/)
  assert.match(html, /&lt;\/title&gt;&lt;script&gt;/)
})

test('an error without a stack and without a readable source still makes a page', () => {
  const html = devErrorPage(input({ error: { name: 'Error', message: '', stack: '', where: '/site/app/page.tsx' } }))
  assert.match(html, /\(no message\)/)
  assert.match(html, /<h2>app\/page\.tsx<\/h2>/)
  assert.doesNotMatch(html, /<h2>Stack/)
})

test('a line that the source does not have makes no excerpt', () => {
  assert.deepEqual(codeFrame('one\ntwo', 3), [])
  assert.deepEqual(codeFrame('one\ntwo', 0), [])
})

test('the frame of the site itself is shown before one of a package', () => {
  assert.deepEqual(
    stackFrames(stack).map(({ file, line }) => `${file}:${line}`),
    ['/site/node_modules/pkg/index.js:3', '/site/app/page.tsx:2', '/site/app/a (b).ts:1'],
  )
  assert.equal(frameToShow(stackFrames(stack), '/site')?.name, 'Page')
})

test('the excerpt marks the line and the column', () => {
  const html = devErrorPage(input())
  assert.match(html, /<h2>app\/page\.tsx:2:9<\/h2>/)
  assert.match(html, /<mark class="line"><span class="number">\s+2<\/span> const b = &lt;\/script&gt;/)
  assert.match(html, / {14}\^\n/)
})

test('the facts of the request and the digest are there', () => {
  const html = devErrorPage(input())
  assert.match(html, /<dt>Request id<\/dt><dd>r1<\/dd>/)
  assert.match(html, /<dt>Digest<\/dt><dd>abc<\/dd>/)
})
