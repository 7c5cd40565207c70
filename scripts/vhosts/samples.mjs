// Prepares samples of nginx files: makes what this machine lacks, so that nginx accepts those without errors of their own.
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const MAX_FIXES = 60

/** @typedef {{ name: string, base: string, dir: string, kind: string, error: string | undefined }} Sample */

/** Directory of all samples, and of what is made for them. It is removed at the end of the process. */
export const work = mkdtempSync(join(tmpdir(), 'vhost-samples-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))

const made = join(work, 'made')

/** Makes certificates that samples have in place of their own. */
function makeCertificates() {
  mkdirSync(made)
  const pair = ['-keyout', join(made, 'key.pem'), '-out', join(made, 'cert.pem')]
  spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=a.test', ...pair])
  const dhparam = spawnSync('openssl', ['dhparam', '-dsaparam', '2048'])
  writeFileSync(join(made, 'dh.pem'), dhparam.stdout)
}

const UPGRADE = 'map $http_upgrade $connection_upgrade { default upgrade; "" close; }\n'

/** @param {string} text */
function kindOf(text) {
  if (/^\s*http\s*\{/m.test(text)) return 'main'
  return /^\s*(?:server|upstream|map)\b[^;]*\{/m.test(text) ? 'vhost' : 'location'
}

/** Replaces a word everywhere in the files of a sample. @param {string} dir @param {string | RegExp} from @param {string} to */
function replaceIn(dir, from, to) {
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const text = readFileSync(file, 'latin1')
    const changed = text.replaceAll(from, () => to)
    if (changed !== text) writeFileSync(file, changed, 'latin1')
  }
}

/** @param {string} text */
const literal = (text) => text.replace(/[\\^$.|?*+(){}[\]/]/g, '\\$&')

/** Makes up for one thing that this machine lacks. False: the error is about the file itself. @param {string} dir @param {string} error */
function fix(dir, error) {
  const host = /host not found in (?:upstream|"?resolver"?|".*" of the) ?"?([^":/ ]+)/.exec(error)?.[1]
  if (host !== undefined) {
    replaceIn(
      dir,
      new RegExp(`(?<=(?:pass\\s+\\S*?|server\\s+|listen\\s+|resolver\\s.*))\\b${literal(host)}\\b`, 'g'),
      '127.0.0.1',
    )
    return true
  }
  const bind = /bind\(\) to (\[[^\]]*\]|[\d.]+):\d+ failed \(99/.exec(error)?.[1]
  if (bind !== undefined) {
    replaceIn(dir, bind, bind.startsWith('[') ? '[::1]' : '127.0.0.1')
    return true
  }
  const user = /get(?:pw|gr)nam\("([^"]+)"\) failed/.exec(error)?.[1]
  if (user !== undefined) {
    replaceIn(dir, /^(\s*user\s).*;/gm, 'user root;')
    return true
  }
  if (error.includes('unknown "connection_upgrade" variable')) {
    appendFileSync(join(dir, 'upgrade.conf'), UPGRADE)
    return true
  }
  const format = /unknown log format "([^"]+)"/.exec(error)?.[1]
  if (format !== undefined) {
    appendFileSync(join(dir, 'upgrade.conf'), `log_format ${format} '$remote_addr "$request" $status';\n`)
    return true
  }
  const group = /no port in upstream "([\w.-]+)"/.exec(error)?.[1]
  if (group !== undefined) {
    appendFileSync(join(dir, 'upgrade.conf'), `upstream ${group} { server 127.0.0.1:9000; }\n`)
    return true
  }
  const cache = /mkdir\(\) "([^"]+)" failed/.exec(error)?.[1]
  if (cache !== undefined) {
    mkdirSync(join(dir, 'made', cache), { recursive: true })
    replaceIn(dir, cache, join(dir, 'made', cache))
    return true
  }
  // Directives that are younger than the nginx of this machine.
  const young = /unknown directive "(http2|http3|quic_\w+)"/.exec(error)?.[1]
  if (young !== undefined) {
    replaceIn(dir, new RegExp(`^(\\s*)${young}\\s[^;]*;`, 'gm'), '')
    return true
  }
  if (error.includes('no "ssl_certificate" is defined')) {
    writeFileSync(join(dir, 'pair.conf'), `ssl_certificate ${made}/cert.pem;\nssl_certificate_key ${made}/key.pem;\n`)
    return true
  }
  const path =
    /(?:BIO_new_file|fopen|open\(\)|SSL_CTX_load_verify_locations|cannot load certificate(?: key)?)[( ]*"([^"]+)"/.exec(
      error,
    )?.[1]
  return path !== undefined && makeFile(dir, path, error)
}

/** @param {string} dir @param {string} path @param {string} error */
function makeFile(dir, path, error) {
  const isIn = path.startsWith(dir)
  if (/SSL_CTX_load_verify|certificate|BIO_new_file|PEM_/.test(error)) {
    const name =
      /dhparam|dh.*\.pem|DH/.test(`${path}${error}`) && !/cert/.test(path) ? 'dh.pem' : /key/.test(path) ? 'key.pem' : 'cert.pem'
    const written = isIn ? path.slice(dir.length + 1) : path
    if (isIn) {
      mkdirSync(dirname(path), { recursive: true })
      cpSync(join(made, name), path)
    } else replaceIn(dir, new RegExp(`(?<![\\w/.-])${literal(written)}(?![\\w/.-])`, 'g'), join(made, name))
    return true
  }
  const target = isIn ? path : join(dir, 'made', path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, '')
  if (!isIn) replaceIn(dir, new RegExp(`(?<![\\w/.-])${literal(path)}(?![\\w/.-])`, 'g'), target)
  return true
}

/** @param {string} dir @param {string} kind */
function writeMain(dir, kind) {
  const present = ['upgrade.conf', 'with.conf', 'pair.conf'].filter((name) => existsSync(join(dir, name)))
  const includes = present.map((name) => `include ${name};`).join(' ')
  const sample = kind === 'location' ? 'server { listen 80; include sample.conf; }' : 'include sample.conf;'
  if (kind !== 'main') writeFileSync(join(dir, 'nginx.conf'), `events {}\nhttp { ${includes} ${sample} }\n`)
}

/** As root, nginx gives these directories to its workers: they must not be those of the machine. @param {string} dir */
function keepInside(dir) {
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const text = readFileSync(file, 'latin1')
    const changed = text.replaceAll(/^(\s*\w+_(?:temp|cache)_path\s+)"?(\/[^\s;"]*)"?/gm, (_whole, start, path) => {
      const inside = join(dir, 'made', path)
      mkdirSync(inside, { recursive: true })
      return `${start}${inside}`
    })
    if (changed !== text) writeFileSync(file, changed, 'latin1')
  }
}

/** The error of nginx; undefined: it accepts the files. @param {string} dir @param {string} kind */
function errorOfNginx(dir, kind) {
  const seen = new Set()
  keepInside(dir)
  for (let fixes = 0; fixes < MAX_FIXES; fixes++) {
    writeMain(dir, kind)
    const run = spawnSync('nginx', ['-t', '-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf'), '-g', `pid ${dir}/pid;`], {
      encoding: 'utf8',
    })
    if (run.status === 0) return undefined
    const error = run.stderr.split('\n').find((line) => line.includes('[emerg]')) ?? run.stderr
    if (/"pid" directive is duplicate/.test(error)) {
      replaceIn(dir, /^\s*pid\s[^;]*;/gm, '')
      continue
    }
    if (seen.has(error) || !fix(dir, error)) return error.replace(/^.*\[emerg\] \d+#\d+: /, '').replaceAll(dir, '.')
    seen.add(error)
  }
  return 'too many fixes'
}

/** Prepares the samples of a folder, one after the other. @param {string} folder @param {RegExp} wanted @returns {Generator<Sample>} */
export function* samplesOf(folder, wanted = /./) {
  if (!existsSync(made)) makeCertificates()
  const samples = readdirSync(folder).filter(
    (name) => name.endsWith('.conf') && !name.endsWith('.with.conf') && wanted.test(name),
  )
  for (const name of samples) {
    const base = name.slice(0, -'.conf'.length)
    const dir = join(work, base)
    mkdirSync(join(dir, 'logs'), { recursive: true })
    const text = readFileSync(join(folder, name), 'latin1')
    const kind = kindOf(text)
    writeFileSync(join(dir, kind === 'main' ? 'nginx.conf' : 'sample.conf'), text, 'latin1')
    if (existsSync(join(folder, `${base}.inc`))) cpSync(join(folder, `${base}.inc`), dir, { recursive: true })
    if (existsSync(join(folder, `${base}.with.conf`))) cpSync(join(folder, `${base}.with.conf`), join(dir, 'with.conf'))
    for (const known of [
      'mime.types',
      'fastcgi.conf',
      'fastcgi_params',
      'proxy_params',
      'uwsgi_params',
      'scgi_params',
      'snippets',
    ]) {
      if (!existsSync(join(dir, known))) cpSync(join('/etc/nginx', known), join(dir, known), { recursive: true })
    }
    spawnSync('chmod', ['-R', 'u+w', dir])
    yield { name, base, dir, kind, error: errorOfNginx(dir, kind) }
  }
}
