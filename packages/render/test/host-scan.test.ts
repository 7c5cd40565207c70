// Runs alone: it starts many processes.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { PROCESS_WAIT_MS, tempDir, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { RenderError } from '../src/errors/errors.ts'
import { ScannedSite } from '../src/host/scanned-site.ts'
import { SiteScanner } from '../src/host/site-scanner.ts'
import { HostProcess } from './host-process.ts'

const page = (text: string) => `export default () => <p>${text}</p>`
const TIMEOUT = { timeoutMs: 60_000 }
const HALF_GIGABYTE = 500 * 1024 * 1024
/** More syntax than any parser follows on its stack. */
const bottomless = `export default () => ${'('.repeat(500_000)}`

/** The processes that another has forked. */
function childrenOf(pid: number | undefined): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`).map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'))
  return tasks.flatMap((text) => text.split(' ').filter((one) => one !== '')).map(Number)
}

function survey(host: HostProcess, site: string) {
  return host.master.call('survey', { site }, TIMEOUT)
}

test('special files, huge files and files outside the site are problems of their site, and the host keeps running', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('root'), 'app/ok/page.tsx': page('ok') })
  const at = (name: string) => {
    mkdirSync(join(root, 'app', name))
    return join(root, 'app', name, 'sitemap.ts')
  }
  closeSync(openSync(join(root, 'sparse'), 'w'))
  truncateSync(join(root, 'sparse'), HALF_GIGABYTE)
  symlinkSync('../../sparse', at('sparse'))
  symlinkSync('/dev/zero', at('zero'))
  symlinkSync('/etc/passwd', at('out'))
  execFileSync('mkfifo', [at('fifo')])
  const socket = createServer().listen(at('socket'))
  t.after(() => socket.close())
  const neighbour = tempSite(t, { 'app/page.tsx': page('neighbour') })
  const host = await HostProcess.start(t, {
    sites: [
      { id: 'bad', root },
      { id: 'good', root: neighbour },
    ],
  })
  const before = (await host.ping()).rssBytes
  const { routes, problems } = await survey(host, 'bad')
  assert.equal(routes.filter(({ kind }) => kind === 'page').length, 2)
  const whys = { fifo: 'is not a regular file', out: 'outside of', socket: 'is not a regular file', zero: 'outside of' }
  for (const [name, why] of Object.entries({ ...whys, sparse: `has ${HALF_GIGABYTE} bytes` })) {
    const text = problems.find((problem) => problem.text.startsWith(`${root}/app/${name}/sitemap.ts: cannot be read: `))?.text
    assert.ok(text?.includes(why), `${name}: ${text}`)
  }
  assert.match((await host.render('bad', '/ok')).text, /ok/)
  assert.match((await host.render('good', '/')).text, /neighbour/)
  assert.ok((await host.ping()).rssBytes - before < HALF_GIGABYTE / 2)
})

test('a scan that crashes is counted against its site, and no other site notices', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': bottomless })
  const neighbour = tempSite(t, { 'app/page.tsx': page('neighbour') })
  const host = await HostProcess.start(t, {
    sites: [
      { id: 'bad', root },
      { id: 'good', root: neighbour },
    ],
  })
  const [{ problems }] = await Promise.all([survey(host, 'bad'), host.render('good', '/')])
  assert.match(problems[0]?.text ?? '', new RegExp(`^the scan of ${root} failed: its process ended`))
  await assert.rejects(host.describe('bad'), { code: 'RENDER_SCAN', retryable: true })
  const losses = await host.lossesSoFar()
  assert.ok(losses.length > 0 && losses.every((loss) => loss === 'bad crash'), losses.join())
  assert.match(host.log, /"site":"bad".*the directory of a site could not be scanned/)
  assert.match((await host.render('good', '/')).text, /neighbour/)
})

for (const [name, text] of Object.entries({
  'lib/bad.ts': `export const a = ${'('.repeat(500_000)}`,
  'lib/bad.tsx': `export const a = ${'<a>'.repeat(200_000)}${'</a>'.repeat(200_000)}`,
  'lib/bad.js': `exports.a = ${'a ?? '.repeat(200_000)}1`,
  'lib/bad.mjs': `export const a = ${'`${'.repeat(200_000)}`,
})) {
  test(`a module that no parser survives (${name}) is an error of its site, and no other site notices`, async (t) => {
    const root = tempSite(t, {
      'app/page.tsx': page('fine'),
      'app/bad/page.tsx': `import { a } from '../../${name}'\nexport default () => <p>{a}</p>`,
      [name]: text,
    })
    const neighbour = tempSite(t, { 'app/page.tsx': page('neighbour') })
    const host = await HostProcess.start(t, {
      sites: [
        { id: 'bad', root },
        { id: 'good', root: neighbour },
      ],
    })
    const crash = new RegExp(`the compilation of ${join(root, name)} failed: its process ended \\(SIG`)
    await assert.rejects(host.render('bad', '/bad'), { code: 'RENDER_COMPILE', message: crash })
    assert.match((await host.render('good', '/')).text, /neighbour/)
    assert.match((await host.render('bad', '/')).text, /fine/)
    assert.deepEqual(await host.lossesSoFar(), ['bad crash'])
    assert.match(host.log, /"site":"bad".*modules of a site could not be compiled/)
  })
}

test('a site that was served and cannot be scanned any more is not served, until it can be', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('one') })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  assert.match((await host.render('a', '/')).text, /one/)
  writeFiles(root, { 'app/bad/page.tsx': bottomless })
  await host.master.call('siteChanged', { site: 'a', files: [join(root, 'app/bad/page.tsx')] }, TIMEOUT)
  await assert.rejects(host.render('a', '/'), { code: 'RENDER_SCAN' })
  rmSync(join(root, 'app/bad'), { recursive: true })
  writeFiles(root, { 'app/page.tsx': page('two') })
  await host.changed('a', [join(root, 'app/page.tsx'), join(root, 'app/bad/page.tsx')]).catch(() => undefined)
  await host.describe('a').catch(() => undefined)
  for (let isServed = false; !isServed; )
    isServed = await host.describe('a').then(
      () => true,
      () => false,
    )
  assert.match((await host.render('a', '/')).text, /two/)
})

test('a site with two files of middleware answers nothing, and says why', async (t) => {
  const guard = 'export const middleware = () => new Response("no", { status: 401 })'
  const root = tempSite(t, { 'app/page.tsx': page('secret'), 'middleware.ts': guard })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  const refused = { code: 'RENDER_SITE_REFUSED', message: /a site has one middleware/ }
  await host.describe('a')
  writeFiles(root, { 'proxy.ts': guard })
  await host.master.call('siteChanged', { site: 'a', files: [join(root, 'proxy.ts')] }, TIMEOUT)
  await assert.rejects(host.render('a', '/'), refused)
  await assert.rejects(host.describe('a'), refused)
  assert.match((await survey(host, 'a')).problems[0]?.text ?? '', /a site has one middleware/)
  rmSync(join(root, 'middleware.ts'))
  await host.changed('a', [join(root, 'middleware.ts')])
  assert.equal((await host.describe('a')).middleware?.file, join(root, 'proxy.ts'))
  assert.match((await host.render('a', '/')).text, /secret/)
})

test('a scan that takes too long is ended with its process, and the next one has another', async (t) => {
  const dir = tempDir(t, 'svc-scan')
  writeFiles(dir, { 'hang.mjs': 'setInterval(() => undefined, 1000)' })
  const scanner = new SiteScanner({ program: join(dir, 'hang.mjs'), timeoutMs: 50 })
  t.after(() => scanner.close())
  const request = { root: dir, publicDir: join(dir, 'public'), files: [] }
  for (let i = 0; i < 2; i++) {
    await assert.rejects(scanner.scan(request), (error: RenderError) => {
      assert.deepEqual([error.code, error.data], ['RENDER_SCAN', { reason: 'timeout' }])
      return true
    })
  }
})

test('a compilation that takes too long is ended with its process, and the next one has another', async (t) => {
  const dir = tempDir(t, 'svc-scan')
  writeFiles(dir, { 'hang.mjs': 'setInterval(() => undefined, 1000)' })
  const scanner = new SiteScanner({ program: join(dir, 'hang.mjs'), compileTimeoutMs: 50 })
  t.after(() => scanner.close())
  const cacheDirs = { modules: dir, index: dir, bytecode: dir }
  const modules = { view: 'v', ids: [join(dir, 'a.js'), join(dir, 'b.js')] }
  for (let i = 0; i < 2; i++) {
    await assert.rejects(scanner.compile({ root: dir, mode: 'production', cacheDirs, modules }), (error: RenderError) => {
      assert.deepEqual([error.code, error.data], ['RENDER_COMPILE', { reason: 'timeout' }])
      assert.match(error.message, new RegExp(`${dir}/a.js or one of 1 modules beside it `))
      return true
    })
  }
})

/** True if a process runs: the state of one that has ended, and that its parent has not waited for, is Z. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Starts a host whose scan process hangs in native code, kills the host and waits for the end of that process. */
async function killHostOfHungScan(t: TestContext, options: { readonly setpriv?: string }): Promise<void> {
  const dir = tempDir(t, 'svc-scan')
  const [program, scanner] = ['../src/scan/main.ts', '../src/host/site-scanner.ts'].map(
    (path) => new URL(path, import.meta.url).href,
  )
  const request = { root: dir, publicDir: join(dir, 'public'), files: [] }
  writeFiles(dir, {
    'hang.mjs': `import '${program}'
      import { renameSync, writeFileSync } from 'node:fs'
      writeFileSync('${dir}/writing', String(process.pid))
      renameSync('${dir}/writing', '${dir}/pid')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`,
    'host.mjs': `import { SiteScanner } from '${scanner}'
      await new SiteScanner(${JSON.stringify({ program: join(dir, 'hang.mjs'), timeoutMs: 600_000, ...options })})
        .scan(${JSON.stringify(request)})`,
  })
  const host = spawn(process.execPath, [...process.execArgv, join(dir, 'host.mjs')], { stdio: 'inherit' })
  t.after(() => host.kill('SIGKILL'))
  await waitFor('the scan', () => existsSync(join(dir, 'pid')), PROCESS_WAIT_MS)
  const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'))
  t.after(() => isRunning(pid) && process.kill(pid, 'SIGKILL'))
  assert.ok(isRunning(pid))
  host.kill('SIGKILL')
  await waitFor('the end of the scan process', () => !isRunning(pid), PROCESS_WAIT_MS)
}

test('a scan that hangs in native code ends when its render host is killed', (t) => killHostOfHungScan(t, {}))

test('a scan that hangs in native code ends with its host also where the kernel cannot be told to end it', (t) =>
  killHostOfHungScan(t, { setpriv: '/does/not/exist' }))

test('a process that was ended while it had nothing to do costs no site a scan', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('fine') })
  const scanner = new SiteScanner({ program: fileURLToPath(new URL('../src/scan/main.ts', import.meta.url)) })
  t.after(() => scanner.close())
  const before = new Set(childrenOf(process.pid))
  const request = { root, publicDir: join(root, 'public'), files: [] }
  await scanner.scan(request)
  for (const pid of childrenOf(process.pid).filter((one) => !before.has(one))) process.kill(pid, 'SIGKILL')
  assert.equal((await scanner.scan(request)).manifest.routes.length, 1)
})

/** Stops the scan processes of a host, as a file system does that answers no more. */
function freezeScans(t: TestContext, host: HostProcess): void {
  const frozen = childrenOf(host.child.pid)
  assert.ok(frozen.length > 0)
  for (const pid of frozen) process.kill(pid, 'SIGSTOP')
  t.after(() => {
    for (const pid of frozen) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Its host has ended it.
      }
    }
  })
}

test('modules whose compilation does not end cost their own requests, and the host goes on', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': page('fine'), 'app/other/page.tsx': page('other') })
  const neighbour = tempSite(t, { 'app/page.tsx': page('neighbour') })
  const sites = [
    { id: 'bad', root },
    { id: 'good', root: neighbour },
  ]
  const host = await HostProcess.start(t, { sites, render: { timeout_ms: 3_000 } })
  assert.match((await host.render('good', '/')).text, /neighbour/)
  assert.match((await host.render('bad', '/')).text, /fine/)
  freezeScans(t, host)
  await assert.rejects(host.render('bad', '/other'), { code: 'RENDER_TIMEOUT' })
  assert.match((await host.render('good', '/')).text, /neighbour/)
  assert.match((await host.render('bad', '/')).text, /fine/)
  assert.deepEqual(await host.lossesSoFar(), [])
})

test('modules that are larger together than the memory of an isolate are not loaded into that of the host', async (t) => {
  const names = Array.from({ length: 10 }, (_, i) => `lib/${i}.js`)
  const text = `export const text = '${'x'.repeat(8 * 1024 * 1024)}'`
  const root = tempSite(t, {
    'app/page.tsx': page('fine'),
    'app/large/page.tsx': `${names.map((name) => `import '../../${name}'`).join('\n')}\n${page('large')}`,
    ...Object.fromEntries(names.map((name) => [name, text])),
  })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }], render: { memory_limit_mb: 64 } })
  await assert.rejects(host.render('a', '/large'), { code: 'RENDER_MEMORY', message: /lib\/\d\.js, .* more than 64 MB/ })
  assert.match((await host.render('a', '/')).text, /fine/)
  assert.deepEqual(await host.lossesSoFar(), [])
})

test('a directory whose scans fail again and again is not scanned at each request', async () => {
  let scans = 0
  const failures: string[] = []
  const scan = async () => {
    scans++
    throw new RenderError('RENDER_SCAN', 'no', { data: { reason: 'timeout' } })
  }
  const site = new ScannedSite({ root: '/r', publicDir: '/r/p', scanner: { scan }, onFailed: (reason) => failures.push(reason) })
  for (let i = 0; i < 50; i++) await assert.rejects(site.current(), { code: 'RENDER_SCAN' })
  assert.equal(scans, 2)
  assert.deepEqual(failures, ['timeout', 'timeout'])
})
