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

test('the manifest names every page of the table with the scripts that it needs, and files that exist', () => {
  assert.deepEqual(
    Object.keys(manifest.pages),
    pages.map(({ path }) => path),
  )
  const needed: string[] = Object.values<string[]>(manifest.pages).flat()
  for (const name of [manifest.script, manifest.style, manifest.icon, ...manifest.preload, ...needed])
    assert.ok(name in manifest.files, name)
})

/** The scripts that a script imports at once. */
function importsOf(name: string): string[] {
  const text = readFileSync(`${dir}/${name}`, 'utf8')
  return [...text.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)].map(([, file]) => file ?? '')
}

test('a page needs two scripts besides the first one at most, and the manifest has all that they import', () => {
  const known = new Set([manifest.script, ...manifest.preload])
  assert.deepEqual(importsOf(manifest.script).toSorted(), manifest.preload.toSorted())
  assert.equal(manifest.preload.length, 1, 'what pages share is in one file')
  for (const [path, own] of Object.entries<string[]>(manifest.pages)) {
    assert.ok(own.length >= 1 && own.length <= 2, `${path}: ${own}`)
    for (const name of own)
      for (const file of importsOf(name)) assert.ok(known.has(file) || own.includes(file), `${path}: ${file}`)
    assert.equal(
      own.some((name) => name.startsWith('uPlot')),
      ['/__svc/admin', '/__svc/obs/dashboard', '/__svc/admin/site', '/__svc/admin/traffic'].includes(path),
      path,
    )
  }
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
