// Fetches the packages that npm leaves out when it runs on another Node than the one the service ships.
//
// npm skips an optional dependency whose `engines` exclude npm's own Node. The service never runs on that Node but on
// the bundled one, so exactly those versions are fetched here with `npm pack`, checked against a pinned hash and unpacked.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const modulesDir = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules')
const NPM_DEADLINE_MS = 120_000

/** Packages for the bundled Node 22, with the sha512 of their tarballs in subresource-integrity form. */
const pinned = [
  {
    name: 'isolated-vm',
    version: '6.2.0',
    integrity: 'sha512-UuSlxSHWt2QuJ5WvBhzlIJx2VVZN/a44SqBbEZFKNdvuSyhOvhmyDo8SQ+njVbhnh/njoL/aW0bUTiFYlpweGQ==',
    isFor: () => process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch),
  },
  {
    name: '@uwsjs/linux-x64-22',
    version: '20.51.4',
    integrity: 'sha512-oGfpSkeEV/CCgJpmKNYV8uTvS1jk6TZw4cZ82eR1ZVk9jrJI2sL/wb/Vvw0tqx3GFsprNFLPwVXVS0BMdMyNwg==',
    isFor: () => process.platform === 'linux' && process.arch === 'x64',
  },
]

async function isInstalled({ name, version }) {
  const manifest = join(modulesDir, name, 'package.json')
  if (!existsSync(manifest)) return false
  return JSON.parse(await readFile(manifest, 'utf8')).version === version
}

/** Downloads, verifies and unpacks one package; the final rename makes it appear whole or not at all. */
async function fetchPackage({ name, version, integrity }) {
  const target = join(modulesDir, name)
  await mkdir(dirname(target), { recursive: true })
  const scratch = await mkdtemp(join(modulesDir, '.fetch-'))
  try {
    const npm = process.env.npm_execpath
    const command = npm ? [process.execPath, [npm]] : ['npm', []]
    const args = ['pack', `${name}@${version}`, '--silent', '--ignore-scripts', '--pack-destination', scratch]
    const { stdout } = await run(command[0], [...command[1], ...args], { cwd: scratch, timeout: NPM_DEADLINE_MS })
    const tarball = join(scratch, stdout.trim().split('\n').at(-1))
    const digest = `sha512-${createHash('sha512')
      .update(await readFile(tarball))
      .digest('base64')}`
    if (digest !== integrity) throw new Error(`checksum of ${name}@${version} is ${digest}, expected ${integrity}`)
    await run('tar', ['-xzf', tarball, '-C', scratch])
    await rm(target, { recursive: true, force: true })
    await rename(join(scratch, 'package'), target)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

for (const pin of pinned) {
  if (!pin.isFor() || (await isInstalled(pin))) continue
  try {
    await fetchPackage(pin)
    console.log(`fetched ${pin.name}@${pin.version} for the bundled Node`)
  } catch (error) {
    console.error(`could not fetch ${pin.name}@${pin.version}: ${error.message}`)
    console.error('check the network or proxy settings of npm and run `npm install` again')
    process.exitCode = 1
  }
}
