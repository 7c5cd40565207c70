// Starts the service once with a site and stops it, so that its programs leave their compiled code in dist/code-cache. A test kills
// its server, and a process that is killed leaves nothing: each server of the tests would compile everything again.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** The directory that `bin/svc` has Node.js keep compiled code in. A build empties it. */
export const codeCacheDir = join(root, 'dist/code-cache')
const LIMIT_MS = 60_000

/** Writes a site and the configuration of a server for it. @returns the path of the configuration */
function configure(dir) {
  mkdirSync(join(dir, 'site/app'), { recursive: true })
  writeFileSync(join(dir, 'site/app/page.tsx'), 'export default () => <p>ready</p>\n')
  const file = join(dir, 'svc.config.toml')
  const directories = `state_dir = "${dir}/state"\nrun_dir = "${dir}/run"\n[cache]\ndir = "${dir}/cache"\n`
  const site = `[[sites]]\nid = "one"\nroot = "${dir}/site"\nhostnames = ["127.0.0.1"]\n`
  writeFileSync(file, `[server]\nlisten = "127.0.0.1:0"\n${directories}${site}`)
  return file
}

/** @returns the first line that a process prints; rejects with its log if it ends without one */
function firstLineOf(child) {
  const { promise, resolve, reject } = Promise.withResolvers()
  let text = ''
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (data) => {
    log += data
  })
  child.stdout.setEncoding('utf8').on('data', (data) => {
    text += data
    if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
  })
  child.on('exit', (code) => reject(new Error(`the service ended with ${code} before it was ready:\n${log}`)))
  return promise
}

/** Does nothing after the first time since the last build. */
export async function warmCodeCache() {
  const marker = join(codeCacheDir, 'warm.stamp')
  if (existsSync(marker)) return
  const dir = mkdtempSync(join(tmpdir(), 'svc-warm-'))
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SVC_|NODE_)/.test(name)))
  const args = ['serve', '--config', configure(dir)]
  const child = spawn(join(root, 'bin/svc'), args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: LIMIT_MS })
  const exited = new Promise((resolve) => child.on('exit', resolve))
  try {
    const ready = JSON.parse(await firstLineOf(child))
    const response = await fetch(ready.listen[0])
    if (!(await response.text()).includes('ready')) throw new Error(`the service answered with status ${response.status}`)
  } finally {
    child.kill('SIGTERM')
    await exited
    rmSync(dir, { recursive: true, force: true })
  }
  writeFileSync(marker, '')
}
