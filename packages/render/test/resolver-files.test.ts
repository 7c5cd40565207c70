import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SiteResolver } from '@svc/compile'
import { tempSite } from '@svc/testkit'
import { HostProcess } from './host-process.ts'

/** Files of a site, the path at which a device is put, and the import that leads there. */
type Case = readonly [files: Record<string, string>, path: string, specifier: string]

const x = 'node_modules/x'
const json = (value: unknown) => JSON.stringify(value)
const pathsTo = (target: string) => json({ compilerOptions: { paths: { '@/*': [target] } } })

const cases: Readonly<Record<string, Case>> = {
  'of the site': [{ 'b.js': '' }, 'package.json', './b'],
  'beside the target': [{ 'd/b.js': '' }, 'd/package.json', './d/b'],
  'of a directory': [{ 'd/index.js': '' }, 'd/package.json', './d'],
  'behind a link': [{ 'd/b.js': '', l: '->d' }, 'd/package.json', './l/b'],
  'of a package': [{ [`${x}/index.js`]: '' }, `${x}/package.json`, 'x'],
  'above a package': [{ [`${x}/index.js`]: '' }, 'node_modules/package.json', 'x'],
  'of a part of a package': [{ [`${x}/package.json`]: '{}', [`${x}/sub/index.js`]: '' }, `${x}/sub/package.json`, 'x/sub'],
  'of main': [{ [`${x}/package.json`]: json({ main: './lib/i.js' }), [`${x}/lib/i.js`]: '' }, `${x}/lib/package.json`, 'x'],
  'of exports': [
    { [`${x}/package.json`]: json({ exports: { '.': { import: './lib/i.js' } } }), [`${x}/lib/i.js`]: '' },
    `${x}/lib/package.json`,
    'x',
  ],
  'of a pattern': [
    { [`${x}/package.json`]: json({ exports: { './*': './lib/*.js' } }), [`${x}/lib/q/i.js`]: '' },
    `${x}/lib/q/package.json`,
    'x/q/i',
  ],
  'of a replacement': [
    { 'package.json': json({ browser: { y: 'x' } }), [`${x}/index.js`]: '', 'node_modules/y/index.js': '' },
    `${x}/package.json`,
    'y',
  ],
  'of imports': [{ 'package.json': json({ imports: { '#q': './d/b.js' } }), 'd/b.js': '' }, 'd/package.json', '#q'],
  'of the package itself': [
    { 'package.json': json({ name: 'me', exports: { './*': './d/*.js' } }), 'd/e/q.js': '' },
    'd/e/package.json',
    'me/e/q',
  ],
  tsconfig: [{ 'b.js': '' }, 'tsconfig.json', './b'],
  extends: [{ 'b.js': '', 'tsconfig.json': '// "\n{"extends":"./base",}' }, 'base.json', './b'],
  'extends a package': [{ 'b.js': '', 'tsconfig.json': json({ extends: 'x' }), [`${x}/a`]: '' }, `${x}/package.json`, './b'],
  references: [{ 'b.js': '', 'tsconfig.json': json({ references: [{ path: './c' }] }) }, 'c/tsconfig.json', './b'],
  paths: [{ 'tsconfig.json': pathsTo('./src/*'), 'src/d/b.js': '' }, 'src/d/package.json', '@/d/b'],
  'extended paths': [
    { 'tsconfig.json': json({ extends: './c/base.json' }), 'c/base.json': pathsTo('./src/*'), 'c/src/b.js': '' },
    'c/src/package.json',
    '@/b',
  ],
  baseUrl: [{ 'tsconfig.json': json({ compilerOptions: { baseUrl: './src' } }), 'src/d/b.js': '' }, 'src/d/package.json', 'd/b'],
}

function siteOf(t: TestContext, files: Record<string, string>): string {
  const isLink = ([, text]: [string, string]) => text.startsWith('->')
  const root = tempSite(t, Object.fromEntries(Object.entries({ 'a.js': '', ...files }).filter((entry) => !isLink(entry))))
  for (const [name, text] of Object.entries(files).filter(isLink)) symlinkSync(text.slice(2), join(root, name))
  return root
}

for (const [name, [files, path, specifier]] of Object.entries(cases)) {
  test(`settings that the resolver would open are regular files: ${name}`, (t) => {
    const root = siteOf(t, files)
    const resolver = new SiteResolver(root)
    const resolve = () => resolver.resolve(join(root, 'a.js'), specifier, 'import')
    mkdirSync(dirname(join(root, path)), { recursive: true })
    symlinkSync('/dev/null', join(root, path))
    const found = resolve()
    assert.equal(found.kind, 'none')
    assert.match(
      found.kind === 'none' ? found.message : '',
      /(package|tsconfig|base)\.json is not a regular file: replace or remove it/,
    )
    assert.deepEqual({ ...resolve(), refused: undefined }, { ...found, refused: undefined })
    rmSync(join(root, path))
    resolver.clear()
    if (!name.startsWith('extends') && name !== 'references') assert.equal(resolve().kind, 'file')
  })
}

test('settings that are too large, that lead out of the site, or that extend each other endlessly are rejected', (t) => {
  const messageFor = (plant: (root: string) => void, specifier = './b') => {
    const root = siteOf(t, { 'b.js': '' })
    plant(root)
    const found = new SiteResolver(root).resolve(join(root, 'a.js'), specifier, 'import')
    return found.kind === 'none' ? found.message : found.kind
  }
  const put = (name: string, text: string) => (root: string) => writeFileSync(join(root, name), text)
  const large = messageFor((root) => {
    put('package.json', '{}')(root)
    truncateSync(join(root, 'package.json'), 2 ** 30)
  })
  assert.match(large, /package\.json has 1073741824 bytes; the limit is 1048576/)
  assert.match(
    messageFor((root) => symlinkSync('/etc/hostname', join(root, 'package.json'))),
    /leads to \/etc\/hostname, outside/,
  )
  const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`./${i}`, './b.js']))
  assert.match(messageFor(put('package.json', json({ exports: many }))), /names more than 20000 files/)
  assert.match(messageFor(put('package.json', json({ imports: { '#*': '#*a' } })), '#b'), /cannot find "#b"/)
  assert.equal(messageFor(put('tsconfig.json', `{}/*${'"\\"'.repeat(200_000)}`)), messageFor(put('tsconfig.json', '{}/*')))
  const chain = messageFor((root) => {
    for (let i = 0; i < 300; i++) put(i === 0 ? 'tsconfig.json' : `t${i}.json`, json({ extends: `./t${i + 1}.json` }))(root)
  })
  assert.match(chain, /leads to more than 200 files/)
})

for (const name of ['package.json', 'tsconfig.json', `${x}/package.json`]) {
  test(`a site with a pipe as ${name} fails with its name, and its neighbour is served`, async (t) => {
    const root = tempSite(t, { 'app/page.tsx': `import 'x'\nexport default () => <p>bad</p>`, [`${x}/index.js`]: '' })
    const neighbour = tempSite(t, { 'app/page.tsx': 'export default () => <p>neighbour</p>' })
    execFileSync('mkfifo', [join(root, name)])
    const host = await HostProcess.start(t, {
      sites: [
        { id: 'bad', root, mode: 'development' },
        { id: 'good', root: neighbour },
      ],
    })
    const [bad, good] = await Promise.all([host.render('bad', '/'), host.render('good', '/')])
    assert.equal(bad.status, 500)
    assert.ok(bad.text.includes(`${name} is not a regular file`), bad.text)
    assert.match(good.text, /neighbour/)
    assert.deepEqual(await host.lossesSoFar(), [])
  })
}
