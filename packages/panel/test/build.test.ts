import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { runtimeFiles } from '../../../scripts/release/runtime-files.mjs'
import { pages } from '../src/pages/pages.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const dir = `${root}dist/panel`
const manifest = JSON.parse(readFileSync(`${dir}/manifest.json`, 'utf8'))
const endings: Readonly<Record<string, string>> = { br: '.br', gzip: '.gz' }

test('the manifest names every page of the table below /__svc/admin/, and files that exist', () => {
  const below = pages.map(({ path }) => path.split('/__svc/admin/')[1]).filter((name) => name !== undefined)
  assert.deepEqual(manifest.pages, below)
  for (const name of [manifest.script, manifest.style, manifest.icon, ...manifest.preload])
    assert.ok(name in manifest.files, name)
})

test('every file is there in each of its codings, which are smaller and say the same', () => {
  for (const [name, { codings }] of Object.entries(manifest.files as Record<string, { codings: string[] }>)) {
    const plain = readFileSync(`${dir}/${name}`)
    for (const coding of codings) assert.ok(statSync(`${dir}/${name}${endings[coding]}`).size < plain.byteLength, name)
    if (codings.includes('gzip')) assert.deepEqual(gunzipSync(readFileSync(`${dir}/${name}.gz`)), plain)
  }
})

test('an installed release has the manifest and all files of the panel', () => {
  const released = new Set(runtimeFiles(root).map(({ target }) => target))
  const files = Object.entries(manifest.files as Record<string, { codings: string[] }>)
  const names = files.flatMap(([name, { codings }]) => [name, ...codings.map((coding) => `${name}${endings[coding]}`)])
  for (const name of ['manifest.json', ...names]) {
    assert.ok(released.has(`dist/panel/${name}`), name)
    assert.ok(existsSync(`${dir}/${name}`), name)
  }
})
