// Compares how nginx and this server answer for the nginx files of a folder that both accept. Run with the bundled Node, after
// `npm run build`:
//
//   bin/node scripts/vhost-behaviour.mjs FOLDER [PATTERN OF NAMES] [--verbose]
//
// Upstreams of the samples are one that answers with what it saw, directories of files are made; addresses are those of the
// loopback interface. Requests are derived from the names and locations of the servers.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readWeb } from '../packages/vhosts/src/index.ts'
import { answerTo, differencesOf } from './vhosts/answers.mjs'
import { derivedRequests } from './vhosts/derived-requests.mjs'
import { changeFiles, localizeListens, localizeUpstreams, writtenPorts } from './vhosts/localize.mjs'
import { startBackend } from './vhosts/recording-backend.mjs'
import { samplesOf, work } from './vhosts/samples.mjs'

const [folder, ...rest] = process.argv.slice(2)
const isVerbose = rest.includes('--verbose')
const [pattern = '.'] = rest.filter((one) => !one.startsWith('--'))
if (folder === undefined) {
  process.stderr.write('usage: vhost-behaviour.mjs FOLDER [PATTERN] [--verbose]\n')
  process.exit(64)
}

const root = fileURLToPath(new URL('..', import.meta.url))
const START_MS = 60_000
const HOSTS = { nginx: '127.77.0.10', svc: '127.77.0.20' }

/** A port that is free on the addresses of both servers. */
async function freePort() {
  const server = createServer().listen(0, '0.0.0.0')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** @param {import('node:child_process').ChildProcess} child @param {RegExp} line */
async function started(child, line) {
  let text = ''
  const { promise, resolve } = Promise.withResolvers()
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk
      if (line.test(text)) resolve(true)
    })
  }
  child.once('exit', () => resolve(false))
  const isUp = await Promise.race([promise, delay(START_MS, false)])
  return { isUp, text }
}

/** @param {import('node:child_process').ChildProcess} child */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

/** @param {string} dir */
async function startNginx(dir) {
  const args = ['-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf'), '-g', `pid ${dir}/pid; daemon off;`]
  const child = spawn('nginx', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  // The log level of a sample may leave out the start.
  const { isUp, text } = await Promise.race([started(child, /start worker/), delay(1_500, { isUp: true, text: '' })])
  return { child, why: isUp && child.exitCode === null ? undefined : text }
}

/** @param {string} dir */
async function startSvc(dir) {
  const config = join(dir, 'svc.config.toml')
  const places = `state_dir = "${dir}/state"\nrun_dir = "${dir}/run"`
  writeFileSync(config, `[server]\nvhosts = ["${dir}/nginx.conf"]\nworkers = 1\n${places}\n[cache]\ndir = "${dir}/cache"\n`)
  const child = spawn(join(root, 'bin/svc'), ['serve', '--config', config], { stdio: ['ignore', 'pipe', 'pipe'] })
  const { isUp, text } = await started(child, /^\{"event":"ready"/m)
  return { child, why: isUp ? undefined : text }
}

/** @param {import('./vhosts/samples.mjs').Sample} sample @param {number} backend port */
async function compare({ base, dir }, backend) {
  localizeUpstreams(dir, backend)
  changeFiles(dir, (text) => text.replace(/^\s*(?:daemon|pid)\s[^;]*;/gm, ''))
  const ports = new Map()
  for (const written of writtenPorts(dir)) ports.set(written, await freePort())
  const dirs = { nginx: join(work, `${base}-nginx`), svc: join(work, `${base}-svc`) }
  for (const [name, target] of Object.entries(dirs)) {
    cpSync(dir, target, { recursive: true })
    changeFiles(target, (text) => text.replaceAll(`${dir}/`, `${target}/`).replaceAll(`${target}/content/`, `${dir}/content/`))
    localizeListens(target, HOSTS[/** @type {'nginx' | 'svc'} */ (name)], ports)
  }
  spawnSync('chmod', ['-R', 'a+rX', work])
  const place = { file: 'vhost-behaviour', line: 0, column: 0 }
  const surroundings = {
    hosts: [],
    taken: [],
    hasCertificates: false,
    engine: /** @type {const} */ ('uws'),
    engineTls: /** @type {const} */ ('node'),
  }
  const read = await readWeb({ globs: [{ glob: join(dirs.svc, 'nginx.conf'), place }], baseDir: dirs.svc, surroundings })
  if (read.problems.length > 0) return { skipped: `not accepted: ${read.problems[0]?.message}` }
  const [nginx, svc] = await Promise.all([startNginx(dirs.nginx), startSvc(dirs.svc)])
  try {
    if (nginx.why !== undefined || svc.why !== undefined) return { skipped: `no start: ${nginx.why ?? svc.why}` }
    const requests = derivedRequests(read.web)
    const differences = []
    for (const request of requests) {
      const [host = '', port = ''] = request.address.split(/:(?=\d+$)/)
      const theirs = await answerTo({
        ...request,
        at: { host: host.replace(HOSTS.svc, HOSTS.nginx).replace('127.77.0.120', '127.77.0.110'), port: Number(port) },
      })
      const ours = await answerTo({ ...request, at: { host, port: Number(port) } })
      const found = differencesOf(theirs, ours, request)
      if (found.length > 0) differences.push({ request, found })
    }
    return { requests: requests.length, differences }
  } finally {
    await Promise.all([end(nginx.child), end(svc.child)])
    for (const target of Object.values(dirs)) rmSync(target, { recursive: true, force: true })
  }
}

/** @param {unknown} value */
const cut = (value) => String(JSON.stringify(value)).slice(0, 160)

const backend = await startBackend()
let [alike, compared, sent] = [0, 0, 0]
/** @type {Map<string, number>} */
const kinds = new Map()
for (const sample of samplesOf(folder, new RegExp(pattern))) {
  if (sample.error !== undefined) continue
  if (!existsSync(join(sample.dir, 'nginx.conf'))) continue
  const result = await compare(sample, backend.port)
  if ('skipped' in result) {
    process.stdout.write(`${sample.base}: ${result.skipped?.slice(0, isVerbose ? 2000 : 200)}\n`)
    continue
  }
  compared++
  sent += result.requests
  if (result.differences.length === 0) alike++
  process.stdout.write(`${sample.base}: ${result.requests} requests, ${result.differences.length} differ\n`)
  for (const { request, found } of result.differences) {
    const fields = Object.entries(request.headers).map(([name, value]) => ` ${name}: ${value}`)
    for (const { kind, theirs, ours } of found) {
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      const shown = `${kind}: ${cut(theirs)} here ${cut(ours)}`
      if (isVerbose) process.stdout.write(`    ${request.method} ${request.host}${request.target}${fields.join('')}: ${shown}\n`)
    }
  }
}
process.stdout.write(`${compared} samples compared with ${sent} requests, ${alike} without a difference\n`)
for (const [kind, count] of [...kinds].sort((a, b) => b[1] - a[1]))
  process.stdout.write(`${String(count).padStart(6)}  ${kind}\n`)
backend.close()
