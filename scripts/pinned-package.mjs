// Fetches a package with `npm pack`, checks it against a pinned hash and unpacks it.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const NPM_DEADLINE_MS = 120_000

/** The `node_modules` of the checkout. */
export const modulesDir = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules')

/** True if the directory holds this version. */
export async function isFetched({ version }, target) {
  const manifest = join(target, 'package.json')
  if (!existsSync(manifest)) return false
  return JSON.parse(await readFile(manifest, 'utf8')).version === version
}

/** Downloads, verifies and unpacks one package; the final rename makes it appear whole or not at all. */
export async function fetchPackage({ name, version, integrity }, target) {
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
