import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { compileRoutes } from '../src/routing/route-table.ts'
import { makeSite, scanned } from './temp-site.ts'

const repository = fileURLToPath(new URL('../../../', import.meta.url))
const typesFile = join(repository, 'packages/site/types/index.d.ts')

/** Type-checks a project; returns what the compiler prints. */
function check(project: string): string {
  const compiler = join(repository, 'node_modules/typescript/bin/tsc')
  try {
    return execFileSync(process.execPath, [compiler, '-p', project, '--noEmit', '--pretty', 'false'], { encoding: 'utf8' })
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

test('the author types refuse what the server does not have', (t) => {
  const root = makeSite(t, {
    'app/page.tsx': `import { cookies } from 'svc/headers'
import { useOptimistic } from 'next/navigation'
import Link from 'next/link'
export default async function Page() {
  const name: number = (await cookies()).get('a')?.value
  return <Link>{name}</Link>
}`,
  })
  const tsconfig = JSON.parse(readFileSync(join(repository, 'examples/blog/tsconfig.json'), 'utf8'))
  tsconfig.files = [typesFile]
  tsconfig.compilerOptions.paths = {
    react: [join(repository, 'node_modules/@types/react')],
    'react/*': [join(repository, 'node_modules/@types/react/*')],
  }
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify(tsconfig))
  const errors = check(root).match(/error TS\d+/g)
  assert.deepEqual(errors, ['error TS2305', 'error TS2322', 'error TS2741'])
})

test('every helper module is declared under both names and exported by the root package', () => {
  const declared = readFileSync(typesFile, 'utf8')
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  for (const file of readdirSync(join(repository, 'packages/site/types'))) {
    const name = file.replace('.d.ts', '')
    // The code of plugins is the server's, not that of a site.
    if (name === 'index' || name === 'globals' || name === 'plugin') continue
    const suffix = name === 'site' ? '' : `/${name}`
    for (const owner of ['svc', 'next']) assert.ok(declared.includes(`declare module '${owner}${suffix}' {`), `${owner}${suffix}`)
    assert.equal(manifest.exports[`.${suffix}`].types, `./packages/site/types/${file}`)
  }
})

test('the example sites have no problems and pass the type check with the author types', () => {
  for (const [name, routes] of [
    ['blog', ['/', '/about', '/blog/[slug]', '/feed.xml', '/icon.svg', '/robots.txt', '/sitemap.xml', '/tags/[tag]']],
    ['shop', ['/', '/api/cart', '/broken', '/catalogue', '/category/[...path]', '/product/[id]', '/search', '/shipping']],
    ['static', []],
  ] as const) {
    const root = join(repository, 'examples', name)
    const site = scanned(root)
    assert.deepEqual(site.problems, [], name)
    assert.deepEqual(
      site.manifest.routes.map((route) => route.pattern),
      routes,
    )
    if (name !== 'static') assert.equal(check(root), '', name)
  }
})

test('the slots of the shop show a page for a product and a default elsewhere', () => {
  const site = scanned(join(repository, 'examples/shop'))
  const match = compileRoutes(site.manifest).match('/product/kettle')
  assert.ok(match && match.redirect === undefined)
  assert.deepEqual(match.params, { id: 'kettle' })
  const store = match.route.tree?.slots.children
  assert.equal(store?.segment, '(store)')
  assert.equal(store.slots.cart?.default, join(site.root, 'app/(store)/@cart/default.tsx'))
  assert.equal(store.slots.recommendations?.slots.children?.segment, 'product')
})

test('the example plugins fit the types of svc/plugin, and one with a misspelt hook does not', (t) => {
  const project = join(repository, 'examples/plugins')
  assert.equal(check(join(project, 'jsconfig.json')), '')
  const text = readFileSync(join(project, '20-headers.mjs'), 'utf8')
  const root = makeSite(t, { 'wrong.mjs': text.replace('onResponse(', 'onResponses(') })
  const { compilerOptions, include } = JSON.parse(readFileSync(join(project, 'jsconfig.json'), 'utf8'))
  const paths = { 'svc/plugin': [join(repository, 'packages/site/types/plugin.d.ts')] }
  writeFileSync(
    join(root, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, types: [], allowJs: true, paths }, include }),
  )
  assert.match(check(root), /wrong\.mjs\(17,5\): error TS2561: .*'onResponses' does not exist in type 'PluginHooks'/)
})
