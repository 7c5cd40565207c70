// Runs alone: it reads large files and deep directories.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { requireProgram, tempDir, writeFiles } from '@svc/testkit'
import { readConf, readDir, readFiles } from './read-text.ts'

test('files are read in the order of their bytes, hidden ones only by name', async (t) => {
  const one = (port: number) => `server { listen ${port}; }`
  const files = { 'b.conf': one(1), 'a.conf': one(2), 'Z.conf': one(3), 'a-1.conf': one(4), '.h.conf': one(5), 'x.txt': one(6) }
  const { web, files: read, dir } = await readFiles(t, files)
  assert.deepEqual(
    web.servers.map(({ listen }) => listen[0]?.address),
    ['0.0.0.0:3', '0.0.0.0:4', '0.0.0.0:2', '0.0.0.0:1'],
  )
  assert.deepEqual(
    read.map((file) => file.slice(dir.length + 1)),
    ['Z.conf', 'a-1.conf', 'a.conf', 'b.conf'],
  )
  assert.deepEqual((await readDir(dir, {}, '.h.conf')).web.servers.length, 1)
  assert.deepEqual((await readDir(dir, {}, '[ab].con?')).files.length, 2)
  assert.deepEqual((await readDir(dir, {}, '[!a-zA-Y]*.conf')).files.length, 1)
})

test('a glob without matches is a notice, a missing file is a problem', async (t) => {
  const dir = tempDir(t, 'vhosts')
  assert.deepEqual((await readDir(dir)).notices, ['svc.config.toml:1:1: no file matches *.conf'])
  assert.deepEqual((await readDir(dir, {}, 'a.conf')).lines, ['svc.config.toml:1:1: no such file: a.conf'])
})

test('includes are read in place, relative to the file that has them, each where it stands', async (t) => {
  const { lines, web, files, dir } = await readFiles(t, {
    'a.conf':
      'include parts/*.inc;\nserver { include "parts/server.part"; location / { include parts/deep/loc.part; } }\nmap $host $m { include parts/map.part; }',
    'parts/1.inc': 'upstream one { include up.part; }',
    'parts/2.inc': 'upstream two { server 10.0.0.2; }',
    'parts/up.part': 'server 10.0.0.1;',
    'parts/server.part': 'root ../www;\nserver_name a.org;',
    'parts/deep/loc.part': 'include ../more.part;',
    'parts/more.part': 'expires x;\nadd_header A b;',
    'parts/map.part': 'a 1;\nb 2;',
  })
  assert.deepEqual(lines, ['parts/more.part:1:9: invalid value "x" in "expires" directive'])
  assert.deepEqual(
    web.upstreams.map(({ name }) => name),
    ['one', 'two'],
  )
  assert.deepEqual(web.servers[0]?.fallback.files?.dir, [`${dir}/www`])
  assert.equal(web.servers[0]?.locations[0]?.addHeaders.length, 1)
  assert.equal(web.maps[0]?.texts.length, 2)
  assert.equal(files.length, 8)
})

test('a file that includes itself is a problem, by any way', async (t) => {
  const { lines } = await readFiles(t, {
    'a.conf': 'include b.part;',
    'b.part': '\n  include c/c.part;',
    'c/c.part': 'include ../a.conf;',
  })
  assert.match(lines.join('\n'), /^c\/c\.part:1:1: .*a\.conf includes itself$/)
  const dir = tempDir(t, 'vhosts')
  writeFiles(dir, { 'a.conf': 'include link;' })
  symlinkSync('a.conf', join(dir, 'link'))
  assert.match((await readDir(dir)).lines.join('\n'), /^a\.conf:1:1: link includes itself$/)
})

test('files that include each other again and again are bounded', async (t) => {
  const files: Record<string, string> = { 'a.conf': 'include 0.part;', '20.part': '' }
  for (let index = 0; index < 20; index++) files[`${index}.part`] = `include ${index + 1}.part; include ${index + 1}.part;`
  const { lines } = await readFiles(t, files)
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /: more than 20000 files are included$/)
})

test('an unreadable file is a problem at its include', async (t) => {
  const dir = tempDir(t, 'vhosts')
  writeFiles(dir, { 'a.conf': 'include dir;\ninclude loop;\ninclude gone.part;\ninclude none-*;\ninclude ;\n', 'dir/x': '' })
  symlinkSync('loop', join(dir, 'loop'))
  mkdirSync(join(dir, 'd.conf'))
  const { lines } = await readDir(dir)
  assert.deepEqual(lines, [
    'a.conf:1:1: dir: is a directory, not a file (write dir/* for the files in it)',
    'a.conf:2:1: loop: is a symbolic link loop',
    'a.conf:3:1: no such file: gone.part (looked in ., /etc/nginx)',
    'a.conf:5:1: invalid number of arguments in "include" directive',
    'd.conf: is a directory, not a file (write d.conf/* for the files in it)',
  ])
})

test('a file without permission is a problem', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may read everything')
  const dir = tempDir(t, 'vhosts')
  writeFiles(dir, { 'a.conf': '' })
  chmodSync(join(dir, 'a.conf'), 0)
  assert.match((await readDir(dir)).lines.join(), /^a\.conf: is not readable by the user /)
  chmodSync(dir, 0o111)
  t.after(() => chmodSync(dir, 0o755))
  assert.match((await readDir(dir)).lines.join(), /:1: \. is not readable by the user /)
})

test('a file missing because nginx is not installed is reported with advice', async (t) => {
  const { lines } = await readFiles(t, { 'a.conf': 'include /none/fastcgi.conf;\ninclude none/fastcgi-php.conf;' })
  assert.deepEqual(lines, [
    'a.conf:1:1: no such file: /none/fastcgi.conf (it is part of nginx; docs/fastcgi.md lists its lines)',
    'a.conf:2:1: no such file: none/fastcgi-php.conf (looked in ., /etc/nginx)',
  ])
})

test('a directory that cannot be read is a problem, and not one without vhost files', async (t) => {
  const dir = tempDir(t, 'vhosts')
  writeFiles(dir, { 'a.conf': 'include loop/*.part; include gone/*.part;' })
  symlinkSync('loop', join(dir, 'loop'))
  const { lines, notices } = await readDir(dir)
  assert.deepEqual([lines, notices], [['a.conf:1:1: loop is a symbolic link loop'], []])
  const named = await readDir(dir, {}, 'loop/*.conf')
  assert.deepEqual([named.lines, named.notices], [['svc.config.toml:1:1: loop is a symbolic link loop'], []])
})

test('the parameter files of Debian are found where nginx has them', async (t) => {
  if (requireProgram(t, 'nginx') === undefined) return
  if (!existsSync('/etc/nginx/fastcgi_params')) return t.skip('this nginx has no /etc/nginx/fastcgi_params')
  for (const name of ['fastcgi_params', 'fastcgi.conf']) {
    const { web } = await readConf(t, `server { location / { fastcgi_pass unix:/run/php.sock; include ${name}; } }`)
    const content = web.servers[0]?.locations[0]?.content
    assert.ok(content?.kind === 'fastcgi')
    assert.deepEqual(content.params.find(({ name: param }) => param === 'HTTPS')?.isIfNotEmpty, true)
    assert.ok(content.params.length > 15)
  }
})

test("Debian's snippet for PHP is read as it is", async (t) => {
  if (requireProgram(t, 'nginx') === undefined) return
  if (!existsSync('/etc/nginx/snippets/fastcgi-php.conf')) return t.skip('this nginx has no snippets/fastcgi-php.conf')
  const { web } = await readConf(
    t,
    'server { location ~ \\.php$ { include snippets/fastcgi-php.conf; fastcgi_pass unix:/run/php.sock; } }',
  )
  const location = web.servers[0]?.locations[0]
  assert.deepEqual(location?.rewrites, [{ kind: 'set', variable: 'path_info', value: [{ variable: 'fastcgi_path_info' }] }])
  assert.deepEqual(location?.tryFiles?.last, { kind: 'status', status: 404 })
})

test('garbage is reported, in any amount, and never in whole', async (t) => {
  const garbage = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7919 + (index >> 3)) & 0xff))
  const dir = tempDir(t, 'vhosts')
  writeFileSync(join(dir, 'a.conf'), garbage)
  const { lines } = await readDir(dir)
  assert.ok(lines.length > 0 && lines.length <= 501)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may reach a terminal.
  for (const line of lines) assert.ok(line.length < 700 && !/[\x00-\x1f\x7f]/.test(line), line)
})

// Counting every column from the beginning of the line would take minutes.
test('a line of garbage may be as long as a file', { timeout: 60_000 }, async (t) => {
  const { lines } = await readFiles(t, { 'a.conf': ';'.repeat(600_000) })
  assert.deepEqual([lines[0], lines[499], lines.length], ['a.conf:1:1: unexpected ";"', 'a.conf:1:500: unexpected ";"', 501])
})

test('large and deep files are read in one go', async (t) => {
  const many = Array.from(
    { length: 4000 },
    (_, index) => `server { server_name s${index}.org; location / { return 200 "${'x'.repeat(2000)}"; } }\n`,
  )
  const { lines, web } = await readFiles(t, { 'a.conf': many.join('') })
  assert.deepEqual([lines, web.servers.length], [[], 4000])
  const deep = await readFiles(t, { 'a.conf': 'server { '.repeat(200_000) })
  assert.match(deep.lines.join('\n'), /unexpected end of file, expecting "}"/)
  const wrong = await readFiles(t, { 'a.conf': `server { ${'frob x;\n'.repeat(100_000)} }` })
  assert.equal(wrong.lines.length, 501)
  assert.equal(wrong.lines.at(-1), 'a.conf: and 99500 more problems')
  const word = await readFiles(t, { 'a.conf': `server { root ${'/x'.repeat(1_000_000)}; }` })
  assert.deepEqual(word.lines, ['a.conf:1:15: too long parameter (is a closing quote missing?)'])
})

/** Numbers that look random and are the same in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test('no text makes the reader throw', async (t) => {
  const pieces = [
    ...'{};"\'\\$#~@=*?[]()|^.:/ \n\t%&,+-0123456789abcxyz\u0000\u00ff'.split(''),
    ...['server', 'location', 'upstream', 'map', 'types', 'include', 'listen', 'root', 'return', 'rewrite', 'proxy_pass', 'if'],
    ...[
      'http://',
      'unix:',
      '${',
      '$host',
      '(?',
      '[[:',
      '\\x',
      '(?<a>',
      '{2,3}',
      ' ; ',
      ' { ',
      ' } ',
      'default',
      'ssl',
      'error_page',
    ],
  ]
  const random = randomNumbers(20)
  for (let round = 0; round < 400; round++) {
    const length = 1 + random(120)
    const text = Array.from({ length }, () => pieces[random(pieces.length)]).join(random(3) === 0 ? ' ' : '')
    const read = await readFiles(t, { 'a.conf': text })
    assert.ok(Array.isArray(read.problems), text)
  }
})
