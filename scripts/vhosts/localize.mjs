// Rewrites the files of a sample so that two servers can serve them beside each other on this machine.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CONTENT = {
  'index.html': '<p>index</p>\n',
  'a.css': 'a {}\n',
  'b.js': 'b()\n',
  'c.png': 'png',
  'index.php': '<?php\n',
  'd.txt': 'text of some length\n',
}

/** @param {string} dir @param {(text: string, file: string) => string} change */
export function changeFiles(dir, change) {
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    if (file.includes('/content/') || /\.(?:pem|key|crt|types)$/.test(file)) continue
    const text = readFileSync(file, 'latin1')
    const changed = change(text, file)
    if (changed !== text) writeFileSync(file, changed, 'latin1')
  }
}

/** Changes the arguments of directives outside of comments. @param {string} text @param {string} names @param {(name: string, args: string) => string} change */
function changeDirectives(text, names, change) {
  const pattern = new RegExp(`(?<=^(?:[^#\\n]*[;{}])?[ \\t]*)(${names})(\\s+)([^;{}#]+);`, 'gm')
  return text.replace(pattern, (_whole, name, space, args) => `${name}${space}${change(name, args.trim())};`)
}

/** Writes the address of servers that have none. @param {string} text */
function withListens(text) {
  return text.replace(/^([^#\n]*\bserver\s*\{)/gm, (head, _lead, at) => {
    let depth = 0
    for (let end = at + head.length - 1; end < text.length; end++) {
      if (text[end] === '{') depth++
      if (text[end] === '}') depth--
      if (depth === 0) return /^[^#]*\b(?:listen|include)\b/m.test(text.slice(at, end)) ? head : `${head} listen 80;`
    }
    return head
  })
}

/** @param {string} path */
function hashed(path) {
  return createHash('sha1').update(path).digest('hex').slice(0, 8)
}

/** A directory of files in place of one that this machine lacks. @param {string} dir @param {string} path */
function contentFor(dir, path) {
  const target = join(dir, 'content', hashed(path.replace(/\/+$/, '')))
  if (!existsSync(target)) {
    for (const below of ['', 'static', 'assets', 'sub']) {
      mkdirSync(join(target, below), { recursive: true })
      for (const [name, text] of Object.entries(CONTENT)) writeFileSync(join(target, below, name), text)
    }
  }
  return path.endsWith('/') ? `${target}/` : target
}

/** The parts of files that are the same for both servers: upstreams and directories of files. @param {string} dir @param {number} port of the backend */
export function localizeUpstreams(dir, port) {
  const backend = `127.0.0.1:${port}`
  /** @type {Set<string>} */
  const groups = new Set()
  changeFiles(dir, withListens)
  changeFiles(dir, (text) => {
    for (const [, name = ''] of text.matchAll(/^\s*upstream\s+(\S+)\s*\{/gm)) groups.add(name)
    return text
  })
  changeFiles(dir, (text) => {
    const passed = changeDirectives(text, 'proxy_pass|fastcgi_pass|uwsgi_pass|scgi_pass', (name, args) => {
      const [, scheme = '', host = '', rest = ''] = /^(https?:\/\/)?(unix:[^:;]+:?|[^/:$]+(?::\d+)?)?(.*)$/s.exec(args) ?? []
      if (host === '' || args.startsWith('$') || groups.has(host.replace(/:\d+$/, ''))) return args.replace(/^https:/, 'http:')
      return scheme === '' ? `${backend}${name === 'proxy_pass' ? rest : ''}` : `http://${backend}${rest}`
    })
    const served = passed.replace(/(upstream\s+\S+\s*\{)([^}]*)\}/g, (_whole, head, block) => {
      return `${head}${block.replace(/(\bserver\s+)([^\s;]+)/g, `$1${backend}`)}}`
    })
    return changeDirectives(served, 'root|alias', (_name, args) =>
      args.includes('$') || args.includes('/content/') ? args : contentFor(dir, args.replace(/^["']|["']$/g, '')),
    )
  })
}

/** Rewrites `listen` of all files for one server. @param {string} dir @param {string} host @param {Map<string, number>} ports free ports by those that are written */
export function localizeListens(dir, host, ports) {
  changeFiles(dir, (text) =>
    changeDirectives(text, 'listen', (_name, args) => {
      const [address = '', ...options] = args.split(/\s+/)
      if (address.startsWith('unix:') || address.startsWith(host)) return args
      const written = /(?:^|:)(\d+)$/.exec(address.replace(/^\[.*\]$/, ''))?.[1] ?? '80'
      const port = ports.get(written)
      if (port === undefined) return args
      // One more address for each: a server may listen on IPv4 and IPv6.
      const last = address.startsWith('[') ? host.replace(/\d+$/, (number) => String(Number(number) + 100)) : host
      const kept = options.filter(
        (option) => !/^(?:ipv6only|reuseport|fastopen|backlog|deferred|so_keepalive|rcvbuf|sndbuf)/.test(option),
      )
      return [`${last}:${port}`, ...kept].join(' ')
    }),
  )
}

/** Ports that `listen` directives name. @param {string} dir */
export function writtenPorts(dir) {
  /** @type {Set<string>} */
  const ports = new Set(['80'])
  changeFiles(dir, (text) =>
    changeDirectives(text, 'listen', (_name, args) => {
      const [address = ''] = args.split(/\s+/)
      const port = /(?:^|:)(\d+)$/.exec(address.replace(/^\[.*\]$/, ''))?.[1]
      if (port !== undefined) ports.add(port)
      return args
    }),
  )
  return ports
}
