import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SiteConfig } from '@svc/config'
import { systemClock } from '@svc/core'
import { createLogger } from '@svc/telemetry'
import { tempDir, writeFiles } from '@svc/testkit'
import { SiteWatcher } from '../src/watch/site-watcher.ts'

const logger = createLogger({ level: 'silent', format: 'json', base: {} })
/** Only events: nothing is polled. */
const noPoll = { intervalMs: 0, liveMs: 0 }

interface Watched {
  readonly root: string
  readonly watcher: SiteWatcher
  /** Resolves with the changes reported since the last call, when all of these paths are among them. */
  changed(...paths: readonly string[]): Promise<readonly string[]>
}

async function watch(
  t: TestContext,
  root: string,
  options: Partial<ConstructorParameters<typeof SiteWatcher>[0]> = {},
): Promise<Watched> {
  let seen: string[] = []
  let check: () => void = () => undefined
  const onChange = (_: string, files: readonly string[]) => {
    seen.push(...files.map((file) => file.slice(root.length + 1)))
    check()
  }
  const watcher = new SiteWatcher({
    own: [join(root, 'var')],
    settings: noPoll,
    clock: systemClock,
    logger,
    isInUse: () => true,
    onChange,
    ...options,
  })
  t.after(() => watcher.close())
  watcher.setSites([{ id: 'a', root, mode: 'production' } as SiteConfig])
  watcher.start()
  const changed = async (...paths: readonly string[]) => {
    // The timers of the watcher keep no process alive.
    const keepAlive = setInterval(() => undefined, 1_000)
    await new Promise<void>((resolve) => {
      check = () => {
        if (paths.every((path) => seen.includes(path))) resolve()
      }
      check()
    })
    clearInterval(keepAlive)
    check = () => undefined
    const found = seen
    seen = []
    return found
  }
  // The watcher listens from some moment on: the first edit is made until it is seen.
  const probe = setInterval(() => writeFileSync(join(root, 'probe'), String(performance.now())), 20)
  await changed('probe')
  clearInterval(probe)
  writeFileSync(join(root, 'last-probe'), '')
  await changed('last-probe')
  return { root, watcher, changed }
}

function site(t: TestContext): string {
  const root = join(tempDir(t), 'site')
  writeFiles(root, { 'app/page.tsx': 'one', 'app/blog/page.tsx': 'one', 'lib/a.ts': 'one' })
  return root
}

test('edits, renames over a file, older files and new directories are reported by events alone', async (t) => {
  const { root, changed } = await watch(t, site(t))
  writeFileSync(join(root, 'app/page.tsx'), 'two')
  assert.deepEqual(await changed('app/page.tsx'), ['app/page.tsx'])
  writeFileSync(join(root, 'app/page.tsx~'), 'three')
  renameSync(join(root, 'app/page.tsx~'), join(root, 'app/page.tsx'))
  await changed('app/page.tsx')
  writeFileSync(join(root, '../older'), 'older')
  utimesSync(join(root, '../older'), 1, 1)
  renameSync(join(root, '../older'), join(root, 'lib/a.ts'))
  await changed('lib/a.ts')
  writeFiles(root, { 'app/shop/[id]/page.tsx': 'new' })
  await changed('app/shop/[id]/page.tsx')
})

test('a moved directory is followed: its files are removed and added, and edits in the new place are seen', async (t) => {
  const { root, changed } = await watch(t, site(t))
  renameSync(join(root, 'app/blog'), join(root, 'app/news'))
  await changed('app/blog/page.tsx', 'app/news/page.tsx')
  writeFileSync(join(root, 'app/news/page.tsx'), 'edited in its new place')
  await changed('app/news/page.tsx')
  rmSync(join(root, 'app/news'), { recursive: true })
  await changed('app/news/page.tsx')
})

test('a link as root that is swapped shows the other directory, and its edits', async (t) => {
  const first = site(t)
  const dir = tempDir(t)
  const second = join(dir, 'second')
  writeFiles(second, { 'app/page.tsx': 'other', 'app/about/page.tsx': 'other' })
  symlinkSync(first, join(dir, 'current'))
  const { root, changed } = await watch(t, join(dir, 'current'), { settings: { intervalMs: 60_000, liveMs: 60_000 } })
  symlinkSync(second, join(dir, 'next'))
  renameSync(join(dir, 'next'), join(dir, 'current'))
  await changed('app/page.tsx', 'app/about/page.tsx', 'app/blog/page.tsx')
  assert.equal(readFileSync(join(root, 'app/page.tsx'), 'utf8'), 'other')
})

test('a root that is removed and made again is watched again by the poll and by events', async (t) => {
  const { root, changed } = await watch(t, site(t), { settings: { intervalMs: 50, liveMs: 50 } })
  rmSync(root, { recursive: true })
  await changed('app/page.tsx')
  writeFiles(root, { 'app/page.tsx': 'again' })
  await changed('app/page.tsx')
})

test('a burst of writes to one file is reported after its end, or at intervals while it lasts', async (t) => {
  const { root, changed } = await watch(t, site(t))
  for (let i = 0; i < 200; i++) writeFileSync(join(root, 'app/page.tsx'), `version ${i}`)
  writeFileSync(join(root, 'app/done.tsx'), '')
  const found = await changed('app/page.tsx', 'app/done.tsx')
  assert.ok(found.filter((path) => path === 'app/page.tsx').length < 20, `${found.length} reports`)
})

test('files that are never site code, and files that the service writes, cause no report', async (t) => {
  const root = site(t)
  mkdirSync(join(root, 'node_modules/x'), { recursive: true })
  mkdirSync(join(root, '.svc'))
  mkdirSync(join(root, 'public'))
  const { changed } = await watch(t, root)
  writeFileSync(join(root, 'node_modules/x/index.js'), 'x')
  writeFileSync(join(root, '.svc/cache'), 'x')
  writeFileSync(join(root, 'public/logo.svg'), 'x')
  writeFiles(root, { 'var/cache/data.mdb': 'x' })
  writeFileSync(join(root, 'app/page.tsx'), 'after them')
  assert.deepEqual(await changed('app/page.tsx'), ['app/page.tsx'])
})

test('a system without watches is reported once and polled', async (t) => {
  const warnings: string[] = []
  const talking = createLogger({ level: 'silent', format: 'json', base: {} })
  Object.assign(talking, { warn: (_: unknown, text: string) => warnings.push(text) })
  const { root, changed } = await watch(t, site(t), {
    settings: { intervalMs: 50, liveMs: 50 },
    logger: talking,
    openEvents: () => Promise.reject(Object.assign(new Error('No space left on device'), { code: 'ENOSPC' })),
  })
  writeFileSync(join(root, 'app/page.tsx'), 'found by the poll')
  await changed('app/page.tsx')
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /max_user_watches/)
})
