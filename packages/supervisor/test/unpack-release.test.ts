import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { tempDir } from '@svc/testkit'
import { Header } from 'tar'
import { unpackRelease } from '../src/releases/unpack/unpack-release.ts'

type Entry = {
  readonly path: string
  readonly type?: string
  readonly linkpath?: string
  readonly body?: string
  readonly size?: number
  readonly mode?: number
}

const BLOCK = 512

function block(entry: Entry): Buffer {
  const { path, type = 'File', linkpath, body = '', size = Buffer.byteLength(body), mode = 0o644 } = entry
  const header = Buffer.alloc(BLOCK)
  new Header({
    path,
    type: type as 'File',
    size,
    mode,
    mtime: new Date(0),
    ...(linkpath === undefined ? {} : { linkpath }),
  }).encode(header)
  return Buffer.concat([header, Buffer.from(body), Buffer.alloc((BLOCK - (Buffer.byteLength(body) % BLOCK)) % BLOCK)])
}

function archive(entries: readonly Entry[]): Buffer {
  return gzipSync(Buffer.concat([...entries.map(block), Buffer.alloc(2 * BLOCK)]))
}

async function unpack(t: TestContext, bytes: Buffer, maxBytes = 1 << 20) {
  const dir = tempDir(t)
  const file = join(dir, 'a.tar.gz')
  writeFileSync(file, bytes)
  const directory = join(dir, 'unpacked')
  const fd = openSync(file, 'r')
  t.after(() => closeSync(fd))
  const reply = await unpackRelease({ kind: 'archive', fd, directory, maxBytes, maxFiles: 1_000 })
  return { reply, directory, dir }
}

async function refused(t: TestContext, bytes: Buffer, why: RegExp, maxBytes?: number): Promise<string> {
  const { reply, dir } = await unpack(t, bytes, maxBytes)
  assert.match('problem' in reply ? reply.problem : 'unpacked', why)
  return dir
}

test('files, directories and links that stay in the archive are unpacked, without special permissions', async (t) => {
  const bytes = archive([
    { path: './', type: 'Directory', mode: 0 },
    { path: './app/', type: 'Directory', mode: 0o2777 },
    { path: './app/page.tsx', body: 'page', mode: 0o6777 },
    { path: './app/same.tsx', type: 'Link', linkpath: 'app/page.tsx' },
    { path: './lib/deep/own.ts', type: 'SymbolicLink', linkpath: '../../app/page.tsx' },
    { path: './current', type: 'SymbolicLink', linkpath: 'app' },
  ])
  const { reply, directory } = await unpack(t, bytes)
  assert.deepEqual(reply, { sha256: createHash('sha256').update(bytes).digest('hex') })
  for (const name of ['app/page.tsx', 'app/same.tsx', 'lib/deep/own.ts', 'current/page.tsx']) {
    assert.equal(readFileSync(join(directory, name), 'utf8'), 'page')
  }
  assert.equal(statSync(join(directory, 'app/page.tsx')).mode & 0o7777, 0o755)
  assert.equal(statSync(join(directory, 'app')).mode & 0o7022, 0)
})

const hostile: Readonly<Record<string, readonly [entries: readonly Entry[], why: RegExp]>> = {
  'an absolute path': [[{ path: '/tmp/x', body: 'x' }], /absolute path/],
  'a path that climbs': [[{ path: 'a/../../x', body: 'x' }], /contains "\.\."/],
  'a character device': [[{ path: 'null', type: 'CharacterDevice' }], /neither a file/],
  'a block device': [[{ path: 'disk', type: 'BlockDevice' }], /neither a file/],
  'a fifo': [[{ path: 'fifo', type: 'FIFO' }], /neither a file/],
  'an absolute symbolic link': [[{ path: 'l', type: 'SymbolicLink', linkpath: '/etc' }], /link to "\/etc"/],
  'a symbolic link that climbs': [[{ path: 'a/l', type: 'SymbolicLink', linkpath: '../../x' }], /is a link to/],
  'a symbolic link that leads nowhere': [[{ path: 'l', type: 'SymbolicLink', linkpath: 'none' }], /leads nowhere/],
  'a hard link that climbs': [[{ path: 'l', type: 'Link', linkpath: '../x' }], /is a link to/],
  'an absolute hard link': [[{ path: 'l', type: 'Link', linkpath: '/etc/hostname' }], /is a link to/],
  'symbolic links that leave the tree together': [
    [
      { path: 'd1/d2/', type: 'Directory' },
      { path: 'd1/d2/up', type: 'SymbolicLink', linkpath: '../..' },
      { path: 'out', type: 'SymbolicLink', linkpath: 'd1/d2/up/..' },
    ],
    /"out" is a link that leaves/,
  ],
  'a hard link through a symbolic link': [
    [
      { path: 'd1/d2/', type: 'Directory' },
      { path: 'd1/d2/up', type: 'SymbolicLink', linkpath: '../..' },
      { path: 'out', type: 'SymbolicLink', linkpath: 'd1/d2/up/..' },
      { path: 'l', type: 'Link', linkpath: 'out/secret' },
    ],
    /"l" is a link to/,
  ],
  'a hard link to a symbolic link': [
    [
      { path: 'd/e/l', type: 'SymbolicLink', linkpath: '../../x' },
      { path: 'l', type: 'Link', linkpath: 'd/e/l' },
    ],
    /"l" is a link to/,
  ],
  'a file behind a symbolic link': [
    [
      { path: 'app/', type: 'Directory' },
      { path: 'l', type: 'SymbolicLink', linkpath: 'app' },
      { path: 'l/x', body: 'x' },
    ],
    /symlink/i,
  ],
}

for (const [name, [entries, why]] of Object.entries(hostile)) {
  test(`an archive with ${name} is refused`, async (t) => {
    const dir = await refused(t, archive([{ path: 'good', body: 'good' }, ...entries]), why)
    assert.deepEqual(readdirSync(dir).toSorted(), ['a.tar.gz', 'unpacked'])
  })
}

test('sizes, the number of files, and what is unzipped are bounded', async (t) => {
  const [one, two] = ['a', 'b'].map((path) => ({ path, body: path.repeat(600) }))
  assert.ok('sha256' in (await unpack(t, archive([one, two] as Entry[]), 1_200)).reply)
  await refused(t, archive([one, two] as Entry[]), /more than 1199 bytes/, 1_199)
  await refused(t, archive([{ path: 'huge', size: 2 ** 33 }]), /more than 1048576 bytes/)
  await refused(t, Buffer.alloc(1_025), /more than 1024 bytes/, 1_024)
  const many = Array.from({ length: 1_001 }, (_, at) => ({ path: `d${at % 100}/${at}`, type: 'SymbolicLink', linkpath: '.' }))
  await refused(t, archive(many), /more than 1000 entries/, 1 << 26)
  // Blocks of zeros end an archive; what comes after them is read nevertheless.
  await refused(t, gzipSync(Buffer.alloc(4_000_000)), /more than \d+ bytes/, 1 << 20)
})

test('archives that are damaged, cut or no archives are refused', async (t) => {
  const good = archive([{ path: 'a', body: 'x'.repeat(5_000) }])
  await refused(t, good.subarray(0, good.length - 20), /unexpected end/)
  await refused(t, gzipSync(Buffer.alloc(2_048, 'x')), /checksum|archive/i)
  await refused(t, Buffer.from('no archive'), /incorrect header/)
  await refused(t, gzipSync(Buffer.concat([block({ path: 'a', body: 'x'.repeat(600) })]).subarray(0, 700)), /./)
})
