// Starts first: it runs the commands of the operator's guide.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repositoryRoot, requireProgram, writeFiles } from '@svc/testkit'
import { type Machine, startMachine } from './guide/machine.ts'
import { blocksOf, patternOf, readPage } from './guide/page.ts'

/** Commands of the page that reach beyond a directory tree, and a test of their own. */
const ELSEWHERE = /^(?:npm install && npm run package:deb|apt install .*)$/

/** Output that the page promises, by the command that prints it. */
const PROMISED: Readonly<Record<string, RegExp>> = {
  'systemctl is-active svc': /^active$/m,
  'svc status': /ready/,
  'svc config check': /ok/,
  "curl -s -H 'host: shop.example.org' http://127.0.0.1:8080/": /<h1>Shop<\/h1>/,
  "curl -s -H 'host: docs.example.org' http://127.0.0.1:8080/": /^plain files$/m,
  'svc sites': /shop[\s\S]*docs\.example\.org/,
  'curl -s --cacert /etc/svc/tls/shop.crt https://shop.example.org/': /<h1>Shop<\/h1>/,
  'curl -s -H "authorization: Bearer $TOKEN" http://localhost/__svc/admin/api/overview': /"sites"/,
  'curl -s http://localhost/__svc/health': /"status":"(?:ok|healthy)/,
  "curl -s http://localhost/__svc/metrics | grep -c '^http_requests_total'": /^[1-9]/m,
  'curl -s -H "authorization: Bearer $TOKEN" http://localhost/__svc/obs/alerts':
    // The first evaluation ends a moment after the start.
    /"evaluated_at":null|worker_crash_loop/,
  'svc routes shop': /\//,
}

/** Pages that visitors of the shop have: the page on purging is about them. */
const SITE = {
  'srv/shop/app/news/page.tsx': `import { unstable_cache } from 'next/cache'
export const revalidate = 600
const posts = unstable_cache(async () => String(Math.random()), ['posts'], { tags: ['posts'] })
export default async function Page() { return <p>posts-{await posts()}</p> }
`,
}

/** Responses of an upstream are stored, and one of them, and a page, is. */
const UPSTREAM = [
  `sed -i 's|proxy_next_upstream .*|proxy_cache pages; proxy_cache_valid 10m;|' /etc/svc/vhosts/docs.conf && svc reload`,
  "curl -sf http://docs.example.org/api/list | grep -x 'from the upstream'",
]

/** Checks the output of a command of the operator's guide. */
function checkPromise(name: string, text: string): void {
  assert.match(text, PROMISED[name] ?? /^/, name)
}

/** Runs the blocks of a page in order. @returns each command without its comment, with its output */
async function runPage(machine: Machine, page: string): Promise<[command: string, text: string][]> {
  const done: [string, string][] = []
  for (const { commands, shown } of blocksOf(page)) {
    let whole = ''
    for (const command of commands.filter((one) => !ELSEWHERE.test(one))) {
      const { text, code } = await machine.run(command)
      assert.equal(code, 0, `${command}\n${text}`)
      whole += text.replaceAll(machine.root, '').replaceAll('\r', '')
      done.push([command.replace(/ +#[^\n]*$/, ''), text])
    }
    if (shown !== undefined) assert.match(whole, patternOf(shown), `the page shows:\n${shown}the commands print:\n${whole}`)
  }
  return done
}

test("each command of the operator's guide and of the page on purging does what the page says", async (t) => {
  if (requireProgram(t, 'curl') === undefined) return
  const machine = await startMachine(t)
  // Long before it is asked for: an edit that is noticed between two requests would purge it.
  writeFiles(machine.root, SITE)
  const done = await runPage(machine, readPage('operators-guide.md'))
  for (const [name, text] of done) checkPromise(name, text)
  const ran = new Set(done.map(([name]) => name))
  assert.deepEqual(
    Object.keys(PROMISED).filter((name) => !ran.has(name)),
    [],
    'commands that are no longer in the guide',
  )
  const codes = done.flatMap(([name, text]) => (/'%\{http_code\}\\n' /.test(name) ? [text.trim()] : []))
  assert.deepEqual(codes, ['503', '200'], 'in maintenance after the restore, and out of it')
  assert.ok(done.length > 40, String(done.length))

  for (const command of UPSTREAM) assert.equal((await machine.run(command)).code, 0, command)
  await runPage(machine, readPage('purging.md'))
})

test('names of codes, alerts, metrics and keys in the guides are those of the server', () => {
  const known = [
    'docs/reference/errors.md',
    'docs/reference/config.md',
    'docs/monitoring.md',
    'docs/observability.md',
    'docs/certificates.md',
  ]
    .map((name) => readFileSync(join(repositoryRoot, name), 'utf8'))
    .join('\n')
  const page = readFileSync(join(repositoryRoot, 'docs/troubleshooting.md'), 'utf8')
  const names = Array.from(page.matchAll(/`([a-z]+(?:_[a-z0-9]+)+)`/g), ([, name = '']) => name)
  assert.ok(names.length > 10)
  assert.deepEqual(
    names.filter((name) => !new RegExp(`\\b${name}\\b`).test(known)),
    [],
  )
})

test('each text that the page on troubleshooting quotes is one of the sources', () => {
  const files = globSync('packages/*/src/**/*.ts', { cwd: repositoryRoot })
  const sources = files.map((file) => readFileSync(join(repositoryRoot, file), 'utf8').replaceAll("\\'", "'"))
  const quoted = Array.from(readPage('troubleshooting.md').matchAll(/^```text\n([\s\S]*?)^```$/gm), ([, text = '']) => text)
  const lines = quoted.flatMap((text) => text.trimEnd().split('\n'))
  assert.ok(lines.length > 25, String(lines.length))
  // Dots stand for a value; between them, all of the text must be in one line of a source.
  const patterns = lines.map(
    (line) =>
      new RegExp(
        patternOf(line)
          .source.slice(1)
          .replace(/\\n\$$/, ''),
      ),
  )
  const unknown = lines.filter((_line, index) => !sources.some((source) => patterns[index]?.test(source)))
  assert.deepEqual(unknown, [])
})
