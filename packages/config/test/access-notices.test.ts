import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Cleanup, tempDir, writeFiles } from '@svc/testkit'
import type { NeededPath } from '@svc/vhosts'
import { accessNotices } from '../src/load/access-notices.ts'
import { configDir, loadDir, loaded, problemLines } from './load-text.ts'

/** Notices of what a configuration needs, with its directory cut off. */
async function noticesOf(t: Cleanup, toml: string, conf: string, files: Readonly<Record<string, string>> = {}) {
  const dir = configDir(t, { ...files })
  const inDir = (text: string) => text.replaceAll('{dir}', dir)
  writeFiles(dir, { 'svc.config.toml': inDir(`[server]\nvhosts = ["*.conf"]\n${toml}`), 'a.conf': inDir(conf) })
  const { notices } = loaded(await loadDir(dir))
  return notices.map((line) => line.replaceAll(`${dir}/`, '').replaceAll(/the user \S+ /g, 'the user X '))
}

function listening(t: TestContext, path: string): Promise<void> {
  const server = createServer()
  t.after(() => server.close())
  return new Promise((resolve) => server.listen(path, resolve))
}

const later = 'until then requests for it get 502'
const start = 'start the program that listens on it, or correct the path'

test('sockets of upstreams that do not exist are noticed, wherever they are written, each once', async (t) => {
  const notices = await noticesOf(
    t,
    '[[route_rules]]\npattern = "/r/**"\nupstream = "http://unix:/run/svc-none/rule.sock:/x"\n',
    `upstream group { server unix:/run/svc-none/group.sock; server unix:/run/svc-none/down.sock down; server 127.0.0.1:1; }
server { listen 80; server_name a.org;
  location /a/ { fastcgi_pass unix:/run/svc-none/php.sock; }
  location /b/ { proxy_pass http://unix:/run/svc-none/app.sock:/x; }
  location /c/ { proxy_pass http://unix:/run/svc-none/app.sock; }
  location /d/ { fastcgi_pass unix:/run/$server_name.sock; }
  location /e/ { fastcgi_pass group; }
}`,
  )
  assert.deepEqual(notices, [
    `a.conf:1:18: socket /run/svc-none/group.sock does not exist (the user X would connect to it): ${start}; ${later}`,
    `a.conf:3:18: socket /run/svc-none/php.sock does not exist (the user X would connect to it): ${start}; ${later}`,
    `a.conf:4:18: socket /run/svc-none/app.sock does not exist (the user X would connect to it): ${start}; ${later}`,
    `svc.config.toml:5:1: socket /run/svc-none/rule.sock does not exist (the user X would connect to it): ${start}; ${later}`,
  ])
})

test('roots and files of passwords are noticed where they cannot be used, and what has variables is not', async (t) => {
  const files = { 'www/a.html': '', file: '' }
  const notices = await noticesOf(
    t,
    '',
    `server { listen 80; server_name a.org; root gone; auth_basic x; auth_basic_user_file none;
  location /a/ { root www; try_files $uri $uri/ /none.html =404; }
  location /b/ { alias gone/; }
  location /c/ { alias file; }
  location /d/ { root file; auth_basic_user_file www; }
  location /e/ { root $document_uri/gone; auth_basic_user_file /gone/$host; }
  location /f/ { root file/below; }
}`,
    files,
  )
  const correct = 'create it, or correct the path'
  const files404 = 'until then requests for its files get 404 or 403'
  const refused = 'until then requests that need it are rejected'
  assert.deepEqual(notices, [
    `a.conf:1:40: root directory gone does not exist (the user X would read it): ${correct}; ${files404}`,
    `a.conf:1:65: file of passwords none does not exist (the user X would read it): create it (htpasswd -c), or correct the path; ${refused}`,
    `a.conf:3:18: alias gone/ does not exist (the user X would read it): ${correct}; ${files404}`,
    `a.conf:5:18: root directory file is a regular file, not a directory: correct the path; ${files404}`,
    `a.conf:5:29: file of passwords www is a directory, not a regular file: correct the path; ${refused}`,
    `a.conf:7:18: root directory file/below does not exist: a part of the path is not a directory; correct it; ${files404}`,
  ])
})

test('a file that is not a socket causes a notice without being opened, a listening socket does not', async (t) => {
  const dir = tempDir(t, 'sockets')
  writeFiles(dir, { file: '' })
  execFileSync('mkfifo', [join(dir, 'pipe')])
  symlinkSync('loop', join(dir, 'loop'))
  await listening(t, join(dir, 'real'))
  symlinkSync('real', join(dir, 'link'))
  const paths = ['file', 'pipe', 'loop', 'real', 'link', 'a\nb'].map(
    (name): NeededPath => ({ kind: 'socket', path: join(dir, name), place: 'p' }),
  )
  const passwords: NeededPath = { kind: 'passwords', path: join(dir, 'pipe'), place: 'p' }
  const notices = await accessNotices([...paths, passwords], 'www')
  assert.deepEqual(
    notices.map((line) => line.replaceAll(`${dir}/`, '')),
    [
      `p: socket file is a regular file, not a socket: correct the path; ${later}`,
      `p: socket pipe is a named pipe, not a socket: correct the path; ${later}`,
      `p: socket loop is a symbolic link loop: correct the link; ${later}`,
      `p: socket a\\x0ab does not exist (the user www would connect to it): ${start}; ${later}`,
      'p: file of passwords pipe is a named pipe, not a regular file: correct the path; until then requests that need it are rejected',
    ],
  )
})

test('of many the first are named', async () => {
  const paths = Array.from({ length: 60 }, (_, at): NeededPath => ({ kind: 'root', path: `/none/${at}`, place: 'p' }))
  const notices = await accessNotices(paths)
  assert.equal(notices.length, 51)
  assert.equal(notices.at(-1), 'and 10 more paths of this kind')
})

/** Notices as a user without rights sees them. */
function asNobody(paths: readonly NeededPath[]): string[] {
  const module = new URL('../src/load/access-notices.ts', import.meta.url).href
  const program = `import { accessNotices } from ${JSON.stringify(module)}
console.log(JSON.stringify(await accessNotices(${JSON.stringify(paths)})))`
  const asOther = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534, cwd: '/' } : {}
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program]
  return JSON.parse(execFileSync(process.execPath, args, { ...asOther, encoding: 'utf8' }))
}

test('a socket that the user may not connect to, and a directory that it may not search, are named with the user', async (t) => {
  const dir = tempDir(t, 'sockets')
  chmodSync(dir, 0o755)
  writeFiles(dir, { 'closed/deeper/users': '', secret: '' })
  await listening(t, join(dir, 'php.sock'))
  chmodSync(join(dir, 'php.sock'), process.getuid?.() === 0 ? 0o660 : 0o400)
  chmodSync(join(dir, 'secret'), 0)
  chmodSync(join(dir, 'closed'), process.getuid?.() === 0 ? 0o700 : 0o600)
  t.after(() => chmodSync(join(dir, 'closed'), 0o700))
  const lines = asNobody([
    { kind: 'socket', path: join(dir, 'php.sock'), place: 'a' },
    { kind: 'socket', path: join(dir, 'closed/deeper/x.sock'), place: 'b' },
    { kind: 'passwords', path: join(dir, 'secret'), place: 'c' },
  ]).map((line) => line.replaceAll(`${dir}/`, ''))
  assert.equal(lines.length, 3)
  assert.match(
    lines[0] ?? '',
    /^a: the user \S+ may not connect to the socket php\.sock \(owner \d+, group \d+, mode 0\d+\): add the user to the group/,
  )
  assert.match(
    lines[1] ?? '',
    /^b: the user \S+ may not search closed, so it cannot connect to the socket closed\/deeper\/x\.sock: /,
  )
  assert.match(lines[2] ?? '', /^c: the user \S+ may not read the file of passwords secret \(owner \d+, group \d+, mode 0000\): /)
})

test('a vhost file or a .env of a site that is a pipe is refused at once', async (t) => {
  const dir = configDir(t, {
    'svc.config.toml': '[server]\nvhosts = ["pipe.conf", "b.conf"]\n[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n',
    'b.conf': 'include other;',
  })
  for (const name of ['pipe.conf', 'other', 'site/.env']) execFileSync('mkfifo', [join(dir, name)])
  assert.deepEqual(problemLines(dir, await loadDir(dir)), [
    `svc.config.toml:6:1: sites[0].root: cannot read site/.env (is not a regular file)`,
    `pipe.conf: is not a regular file`,
    `b.conf:1:1: other: is not a regular file`,
  ])
})

test('the path of a socket that the system would not take is an error', async (t) => {
  const long = `/run/${'a'.repeat(103)}`
  const dir = configDir(t, {
    'svc.config.toml': `[server]\nvhosts = ["a.conf"]\n[[route_rules]]\npattern = "/"\nupstream = "http://unix:${long}"\n`,
    'a.conf': `server { listen 80; location / { fastcgi_pass unix:${long}; } }`,
  })
  assert.deepEqual(
    problemLines(dir, await loadDir(dir)).map((line) => line.replace(/\(.*|in upstream.*/, '').trim()),
    [
      'svc.config.toml:5:1: route_rules[0].upstream: the path of the socket is too long',
      'a.conf:1:47: too long path in the unix domain socket',
    ],
  )
})
