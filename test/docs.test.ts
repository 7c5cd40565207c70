import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '@svc/testkit'

const MAX_WIDTH = 120

const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'examples/README.md', 'bench/README.md'],
  ...globSync('docs/**/*.md', { cwd: repositoryRoot }),
].map((name) => ({ name, text: readFileSync(join(repositoryRoot, name), 'utf8') }))

/** The text without blocks of code, whose links and words are not the page's own. */
function proseOf(text: string): string {
  return text.replaceAll(/^( *)(```+)[^\n]*\n[\s\S]*?^\1\2$/gm, '')
}

/** The anchors of a page, as code hosts derive them from its headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of proseOf(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = plain.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
    for (let count = 0; ; count++) {
      const anchor = count === 0 ? slug : `${slug}-${count}`
      if (anchors.has(anchor)) continue
      anchors.add(anchor)
      break
    }
  }
  return anchors
}

function linksOf(text: string): string[] {
  const withoutCode = proseOf(text).replaceAll(/`[^`\n]*`/g, '``')
  return Array.from(withoutCode.matchAll(/\]\(([^()\s]+)\)/g), ([, target = '']) => target).filter(
    (target) => !/^[a-z]+:/.test(target),
  )
}

test('no line of the documentation is longer than a screen', () => {
  const long = pages.flatMap(({ name, text }) =>
    text.split('\n').flatMap((line, index) => (line.length > MAX_WIDTH && /\S\s+\S/.test(line) ? [`${name}:${index + 1}`] : [])),
  )
  assert.deepEqual(long, [], `lines over ${MAX_WIDTH} characters: wrap them`)
})

test('each link leads to a file, and to a heading of it', () => {
  let count = 0
  for (const { name, text } of pages) {
    for (const link of linksOf(text)) {
      const [path = '', anchor] = link.split('#')
      const file = path === '' ? join(repositoryRoot, name) : resolve(join(repositoryRoot, dirname(name)), path)
      assert.ok(existsSync(file), `${name}: ${link}`)
      if (anchor !== undefined) {
        assert.ok(file.endsWith('.md'), `${name}: ${link}`)
        assert.ok(anchorsOf(readFileSync(file, 'utf8')).has(anchor), `${name}: ${link}`)
      }
      count++
    }
  }
  assert.ok(count > 100)
})

test('the index of the documentation names each page', () => {
  const index = pages.find(({ name }) => name === 'docs/README.md')?.text ?? ''
  const linked = new Set(
    linksOf(index).map((link) => relative(repositoryRoot, resolve(repositoryRoot, 'docs', link.split('#')[0] ?? ''))),
  )
  const missing = pages
    .map(({ name }) => name)
    .filter((name) => name.startsWith('docs/') && name !== 'docs/README.md' && !linked.has(name))
  assert.deepEqual(missing, [])
})

/** Folders of the repository that pages name in code, such as `scripts/build.mjs` or `packages/cache/src`. */
const PATH = /^(?:packages|scripts|test|bench|examples|systemd|docs|bin)\/(?!\.svc)[\w@./*-]+$/

test('each path of the repository that a page names exists', () => {
  let count = 0
  for (const { name, text } of pages) {
    // The changelog tells of files as they were.
    if (name === 'CHANGELOG.md') continue
    for (const [, code = ''] of proseOf(text).matchAll(/`([^`\n]+)`/g)) {
      if (!PATH.test(code)) continue
      count++
      const bases = [repositoryRoot, join(repositoryRoot, dirname(name))]
      assert.ok(
        bases.some((cwd) => globSync(code, { cwd }).length > 0),
        `${name}: ${code}`,
      )
    }
  }
  assert.ok(count > 20)
})

/** Tests and files that pages name without a folder. */
test('each source file that a page names without its folder exists', () => {
  const sources = globSync(['packages/*/{src,test}/**/*.{ts,mjs}', 'test/**/*.ts', 'bench/**/*.ts', 'scripts/*.mjs'], {
    cwd: repositoryRoot,
  })
  const known = new Set(sources.filter((file) => !file.includes('node_modules')).map((file) => basename(file)))
  assert.ok(statSync(join(repositoryRoot, 'packages')).isDirectory())
  const contributors = pages.filter(
    ({ name }) => /^docs\/(?:[a-z-]+|decisions\/.+)\.md$/.test(name) && name !== 'docs/site-guide.md',
  )
  for (const { name, text } of contributors) {
    for (const [, file = ''] of proseOf(text).matchAll(/`([a-z0-9-]{4,}(?:\.test)?\.ts)`/g)) {
      if (/^(?:middleware|proxy|route|sitemap|robots|page|layout)\.ts$/.test(file)) continue
      assert.ok(known.has(file), `${name}: ${file}`)
    }
  }
})

test('the architecture page describes each package, and its imports as they are enforced', async () => {
  const { importTable } = await import(join(repositoryRoot, 'scripts/structure/import-table.mjs'))
  const text = pages.find(({ name }) => name === 'docs/architecture.md')?.text ?? ''
  type Row = { code: readonly string[]; types?: readonly string[]; late?: readonly string[] }
  const table: Readonly<Record<string, Row>> = importTable
  for (const [name, { code, types = [], late = [] }] of Object.entries(table)) {
    assert.match(text, new RegExp(`^- \\*\\*${name}\\*\\*: `, 'm'), name)
    const imports = [...code, ...types.map((type) => `${type}*`), ...late.map((one) => `(${one})`)].join(', ') || '-'
    assert.ok(text.includes(`| ${name} | ${imports} |`), `imports of ${name}: ${imports}`)
  }
  const described = Array.from(text.matchAll(/^- \*\*([a-z-]+)\*\*: /gm), ([, name = '']) => name)
  assert.deepEqual(described.toSorted(), [...Object.keys(table), 'testkit'].toSorted())
})

test('the walk of a miss names files that exist, and counts them', () => {
  const text = pages.find(({ name }) => name === 'docs/architecture.md')?.text ?? ''
  const [, walk = ''] = text.split('## A miss, file by file')
  const steps = walk.split(/^\d\. /m).slice(1)
  const files = steps.flatMap((step) => {
    const named = Array.from((step.split('\n\n')[0] ?? '').matchAll(/`([a-z-]+)\/([a-z0-9/-]+)`/g))
    assert.equal(named.length, Number(/\((\d+)\)/.exec(step)?.[1]), step)
    return named.map(([, name = '', path = '']) => `packages/${name}/src/${path}.ts`)
  })
  for (const file of files) assert.ok(existsSync(join(repositoryRoot, file)), file)
  assert.equal(new Set(files).size, Number(/The (\d+) files/.exec(walk)?.[1]))
})

/** Words that stand for plainer ones: see "Language" in CONTRIBUTING.md. */
const BANNED = /\b(?:nobody|somebody|anew|under way|is over|begun anew|what is kept|of which|there are not yet)\b/i

test('the documentation says it plainly', () => {
  const found = pages.flatMap(({ name, text }) => {
    const prose = proseOf(text)
    return prose.split('\n').flatMap((line) => (BANNED.test(line.replaceAll(/`[^`]*`/g, '')) ? [`${name}: ${line}`] : []))
  })
  assert.deepEqual(found, [])
})
