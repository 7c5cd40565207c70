import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '@svc/testkit'
import { type Config, loadConfig } from '../packages/config/src/index.ts'
import { runtimeFiles } from '../scripts/release/runtime-files.mjs'

const textOf = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8')
const instructions = textOf('Containerfile')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
const of = (name: string) => instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
/** Files that the build takes from the checkout. */
const copied = of('COPY')
  .filter((line) => !line.startsWith('--from='))
  .flatMap((line) => line.split(' ').slice(0, -1))

test('the image copies files that exist, and none that its build leaves out', () => {
  assert.deepEqual(
    copied.filter((path) => !existsSync(join(repositoryRoot, path))),
    [],
  )
  const left = textOf('.containerignore').split('\n')
  assert.deepEqual(
    copied.filter((path) => left.includes(path)),
    [],
  )
})

test('the build of the image has every file of a release but those that it makes itself', () => {
  const sources = runtimeFiles(repositoryRoot).map(({ source }) => source)
  const isCopied = (file: string) => copied.some((path) => file === path || file.startsWith(`${path}/`))
  const lacking = sources.filter((file) => !/^(?:dist|node_modules)\//.test(file) && !isCopied(file))
  assert.deepEqual(lacking, [])
  assert.ok(sources.some((file) => file.startsWith('dist/worker.js')))
  // A change of the list of packages shows here, and not in a container that cannot render.
  for (const name of ['react', 'lmdb', 'esbuild', 'isolated-vm', 'piscina']) {
    assert.ok(sources.includes(`node_modules/${name}/package.json`), name)
  }
})

async function configOf(name: string): Promise<Config> {
  const text = textOf(`examples/container/${name}`).replaceAll('/srv/examples', join(repositoryRoot, 'examples'))
  const source = { file: '/etc/svc/svc.config.toml', text, cwd: '/', isRoot: false }
  const result = await loadConfig({
    ...source,
    env: { SVC_REDIS__URL: 'redis://redis:6379', SVC_CACHE__ISR__L2_ENABLED: 'true' },
  })
  assert.ok(result.ok, JSON.stringify(result))
  return result.config
}

test('the configurations of the image are valid, and their directories are its volumes', async () => {
  for (const name of ['svc.config.toml', 'sites.toml']) {
    const { server, cache, redis } = await configOf(name)
    assert.deepEqual(JSON.parse(of('VOLUME').join('')), [server.state_dir, cache.dir])
    const made = /install -d -o svc -g svc -m 0700 (\S+ \S+ \S+) /.exec(of('RUN').join('\n'))?.[1]
    assert.equal(made, [server.run_dir, server.state_dir, cache.dir].join(' '))
    assert.equal(server.listen, `0.0.0.0:${of('EXPOSE').join('')}`)
    assert.equal(redis.url, 'redis://redis:6379')
  }
})
