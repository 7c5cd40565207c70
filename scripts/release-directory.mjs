// Writes a release of this checkout, installed and built, into a directory: everything that runs, the bundled Node.js included, and
// nothing to build with.
//
//   node scripts/release-directory.mjs DIR          copies
//   node scripts/release-directory.mjs --link DIR   hard links where the file system has them: for a checkout that is deleted, or a directory that is
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeRelease } from './release/write-release.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const isLinked = process.argv[2] === '--link'
const [dir, ...rest] = process.argv.slice(isLinked ? 3 : 2)
if (dir === undefined || rest.length > 0 || dir.startsWith('-')) {
  console.error('usage: node scripts/release-directory.mjs [--link] DIR')
  process.exit(64)
}
if (existsSync(resolve(dir))) {
  console.error(`${dir} is there already: name a directory that is not`)
  process.exit(64)
}
if (!existsSync(join(root, 'dist/build.stamp'))) {
  console.error(`svc: not built yet; run 'npm run build' in ${root}`)
  process.exit(69)
}
const count = await writeRelease(root, resolve(dir), isLinked)
console.log(`${count} files in ${dir}`)
