// Checks a configuration with a site and a vhost file, serves it, reloads it and stops, so that the programs leave their compiled
// code in dist/code-cache: that of the functions which have run. A test kills its server, and a process that is killed leaves
// nothing: each server of the tests would compile everything again.
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** The directory that `bin/svc` has Node.js keep compiled code in. A build empties it. */
export const codeCacheDir = join(root, 'dist/code-cache')
const LIMIT_MS = 60_000

/** A vhost file with the directives of many. */
function vhosts(dir) {
  return `upstream back { server 127.0.0.1:9; }
    map $http_upgrade $connection_upgrade { default upgrade; '' close; }
    server {
      listen unix:${dir}/hosts.sock;
      server_name warm.test www.warm.test;
      root ${dir};
      add_header X-Frame-Options DENY always;
      if ($host = www.warm.test) { return 301 http://warm.test$request_uri; }
      location / { try_files $uri $uri/ =404; }
      location = /moved { rewrite ^ /there permanent; }
      location /api/ { proxy_set_header Host $host; proxy_pass http://back; }
      location ~ [.]php$ { include fastcgi_params; fastcgi_pass 127.0.0.1:9; }
    }
    server { listen unix:${dir}/hosts.sock default_server; return 404; }
  `
}

/** Writes a site and the configuration of a server for it. @returns the path of the configuration */
function configure(dir) {
  mkdirSync(join(dir, 'site/app'), { recursive: true })
  writeFileSync(join(dir, 'site/app/page.tsx'), 'export default () => <p>ready</p>\n')
  writeFileSync(join(dir, 'hosts.conf'), vhosts(dir))
  const file = join(dir, 'svc.config.toml')
  const directories = `state_dir = "${dir}/state"\nrun_dir = "${dir}/run"\n[cache]\ndir = "${dir}/cache"\n`
  const site = `[[sites]]\nid = "one"\nroot = "${dir}/site"\nhostnames = ["127.0.0.1"]\n`
  writeFileSync(file, `[server]\nlisten = "127.0.0.1:0"\nvhosts = ["${dir}/hosts.conf"]\n${directories}${site}`)
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

/** Runs a command to its end. Rejects with its output if it fails. */
async function command(args, env) {
  await promisify(execFile)(join(root, 'bin/svc'), args, { env, timeout: LIMIT_MS })
}

/** Does nothing after the first time since the last build. */
export async function warmCodeCache() {
  const marker = join(codeCacheDir, 'warm.stamp')
  if (existsSync(marker)) return
  const dir = mkdtempSync(join(tmpdir(), 'svc-warm-'))
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SVC_|NODE_)/.test(name)))
  const file = configure(dir)
  const child = spawn(join(root, 'bin/svc'), ['serve', '--config', file], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
  })
  const exited = new Promise((resolve) => child.on('exit', resolve))
  try {
    // Of all commands this one runs most functions. The first to end keeps them.
    await command(['config', 'check', '--config', file], env)
    const ready = JSON.parse(await firstLineOf(child))
    const response = await fetch(ready.listen[0])
    if (!(await response.text()).includes('ready')) throw new Error(`the service answered with status ${response.status}`)
    await command(['reload', '--config', file], env)
  } finally {
    child.kill('SIGTERM')
    await exited
    rmSync(dir, { recursive: true, force: true })
  }
  writeFileSync(marker, '')
}
