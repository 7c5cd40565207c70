// Builds svc_<version>_<architecture>.deb of this checkout, installed and built, with dpkg-deb.
//
//   node scripts/package-deb.mjs [--out DIR] [--version V] [--compression xz|gzip|none]
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildDebianPackage, debianArchitecture, debianVersion } from './release/debian-package.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

function fail(message, exitCode) {
  console.error(message)
  process.exit(exitCode)
}

function options() {
  try {
    const known = { out: { type: 'string' }, version: { type: 'string' }, compression: { type: 'string', default: 'xz' } }
    return parseArgs({ options: known }).values
  } catch (error) {
    return fail(error.message, 64)
  }
}

const { out = 'build', version: wanted, compression } = options()
if (!['xz', 'gzip', 'none'].includes(compression)) fail('--compression is xz, gzip or none', 64)
if (debianArchitecture() === undefined) fail(`Debian packages are built on x64 and arm64, not on ${process.arch}`, 69)
if (!existsSync(join(root, 'dist/build.stamp'))) fail(`svc: not built yet; run 'npm run build' in ${root}`, 69)
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const version = debianVersion(wanted ?? manifest.version)
if (!/^\d[0-9A-Za-z.+~]*$/.test(version)) fail(`invalid version ${version}: a digit, then letters, digits, ".", "+" and "~"`, 64)

const work = await mkdtemp(join(tmpdir(), 'svc-deb-'))
try {
  await mkdir(resolve(out), { recursive: true })
  const file = join(resolve(out), `svc_${version}_${debianArchitecture()}.deb`)
  await buildDebianPackage({ root, work, out: file, version, compression })
  console.log(file)
} finally {
  await rm(work, { recursive: true, force: true })
}
