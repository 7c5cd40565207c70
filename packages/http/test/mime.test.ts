import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentTypeOf, isCompressibleType } from '../src/index.ts'

const types: ReadonlyArray<readonly [name: string, type: string]> = [
  ['noextension', 'application/octet-stream'],
  ['.html', 'application/octet-stream'],
  ['a.', 'application/octet-stream'],
  ['a.unheard-of', 'application/octet-stream'],
  ['a.html', 'text/html; charset=utf-8'],
  ['A.HTML', 'text/html; charset=utf-8'],
  ['a.b.css', 'text/css; charset=utf-8'],
  ['a.js', 'text/javascript; charset=utf-8'],
  ['a.mjs', 'text/javascript; charset=utf-8'],
  ['a.json', 'application/json'],
  ['a.xml', 'text/xml'],
  ['a.svg', 'image/svg+xml'],
  ['a.wasm', 'application/wasm'],
  ['favicon.ico', 'image/x-icon'],
  ['a.woff2', 'font/woff2'],
]
for (const [name, type] of types) test(`says that ${name} is ${type}`, () => assert.equal(contentTypeOf(name), type))

test('knows which types get smaller', () => {
  for (const type of [
    'text/html; charset=utf-8',
    'Application/JSON',
    'image/svg+xml',
    'application/problem+json',
    'application/wasm',
    'font/ttf',
  ]) {
    assert.equal(isCompressibleType(type), true, type)
  }
  for (const type of [
    '',
    'image/png',
    'font/woff2',
    'video/mp4',
    'application/zip',
    'application/octet-stream',
    'text/event-stream; x',
  ]) {
    assert.equal(isCompressibleType(type), false, type)
  }
})
