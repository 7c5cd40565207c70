// Counts the nginx files of a folder that nginx accepts, and those of them that this server accepts, with the first error of
// the others by how many files it stops. Run with the bundled Node:
//
//   bin/node scripts/vhost-tally.mjs FOLDER [--verbose]
//
// Each NAME.conf is one sample: a whole nginx.conf, or a file that is included in `http {}` or `server {}`. NAME.inc is a
// directory of files that it includes, NAME.with.conf a file to include before it. Certificates, password files and included
// files that are missing are made, and hosts and addresses that this machine does not have are replaced, for both the same.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readWeb } from '../packages/vhosts/src/index.ts'
import { samplesOf } from './vhosts/samples.mjs'

const [folder, ...flags] = process.argv.slice(2)
if (folder === undefined) {
  process.stderr.write('usage: vhost-tally.mjs FOLDER [--verbose]\n')
  process.exit(64)
}

/** The errors of this server. @param {string} dir @param {string} kind */
async function errorsHere(dir, kind) {
  if (kind === 'location') writeFileSync(join(dir, 'location.conf'), 'server { listen 80; include sample.conf; }')
  const files =
    kind === 'main'
      ? ['nginx.conf']
      : ['upgrade.conf', 'with.conf', 'pair.conf', kind === 'location' ? 'location.conf' : 'sample.conf']
  const place = { file: 'vhost-tally', line: 0, column: 0 }
  const globs = files.filter((name) => existsSync(join(dir, name))).map((name) => ({ glob: join(dir, name), place }))
  const surroundings = {
    hosts: [],
    taken: [],
    hasCertificates: false,
    engine: /** @type {const} */ ('uws'),
    engineTls: /** @type {const} */ ('node'),
  }
  const { problems } = await readWeb({ globs, baseDir: dir, surroundings })
  return problems.map(({ message }) => message.replaceAll(dir, '.'))
}

/** @type {Map<string, string[]>} */
const stops = new Map()
const refused = []
const sole = new Map()
let accepted = 0
let count = 0
for (const { name, base, dir, kind, error } of samplesOf(folder)) {
  count++
  if (error !== undefined) {
    refused.push(`${name}: ${error}`)
    continue
  }
  const errors = await errorsHere(dir, kind)
  if (errors.length === 0) {
    accepted++
    continue
  }
  for (const each of new Set(errors)) {
    const key = each.replace(/^(\S+\/)?(?=[\w.-]+ has a )/, '')
    stops.set(key, [...(stops.get(key) ?? []), base])
  }
  if (new Set(errors).size === 1) sole.set(errors[0], (sole.get(errors[0]) ?? 0) + 1)
}

const taken = count - refused.length
process.stdout.write(
  `${count} samples, ${taken} accepted by nginx, ${accepted} of these accepted here (${((accepted / taken) * 100).toFixed(0)} %)\n`,
)
for (const [message, names] of [...stops].sort((a, b) => b[1].length - a[1].length)) {
  const alone = sole.get(message) ?? 0
  process.stdout.write(`${String(names.length).padStart(4)}  ${String(alone).padStart(3)} alone  ${message.slice(0, 150)}\n`)
  if (flags.includes('--verbose')) process.stdout.write(`             ${names.join(' ')}\n`)
}
for (const line of refused) process.stdout.write(`refused by nginx: ${line}\n`)
