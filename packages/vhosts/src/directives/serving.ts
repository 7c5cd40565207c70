import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { FilesSpec, ListenSpec, ServerNameSpec, Template } from '../spec/spec.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { readListen } from '../values/addresses.ts'
import { isIdentifier, MAX_IDENTIFIER } from '../values/identifier.ts'
import { trailingText, withoutTrailing } from '../values/template.ts'
import type { DirectiveCall } from './directive-call.ts'
import { EVERYWHERE, MANY, rule } from './rule.ts'

const TLS_VERSIONS = ['SSLv2', 'SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const

/** A `listen` and where it is written. */
export interface WrittenListen extends ListenSpec {
  readonly isHttp2: boolean
  readonly call: DirectiveCall
}

/** `listen`. */
export const listen = rule<WrittenListen>('listen', {
  in: ['server'],
  args: [1, MANY],
  isMany: true,
  parse: (call) => {
    const read = readListen(call.args.map((_, index) => call.text(index)))
    if ('error' in read) return call.fail(shown(read.error), read.index, read.hint)
    for (const name of read.ignored) call.notice(`"${name}" of "listen" has no effect here`, `listen ${name}`)
    return { ...read.listen, isHttp2: read.isHttp2, call }
  },
})

/** A name of `server_name` and where it is written. */
export interface WrittenName {
  readonly spec: ServerNameSpec
  /** As `$server_name` has it. */
  readonly text: string
  readonly call: DirectiveCall
  readonly index: number
}

const label = '[^*.\\s/\\\\]+'
const NAME = new RegExp(`^(?:\\*\\.|\\.)?${label}(?:\\.${label})*\\.?$|^${label}(?:\\.${label})*\\.\\*$|^$`)

/** Lower case of A to Z alone: the bytes of other characters have to stay as they are. */
function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

function parseName(call: DirectiveCall, index: number): WrittenName | undefined {
  const text = call.arg(index)
  if (text.startsWith('~')) {
    const found = call.pattern(index, true, text.slice(1))
    return found === undefined
      ? undefined
      : { spec: { kind: 'pattern', pattern: found.pattern }, text: text.slice(1), call, index }
  }
  // The one variable that nginx knows here.
  const name = asciiLowerCase(text === '$hostname' ? hostname() : text).replace(/\.$/, '')
  if (!NAME.test(name))
    return call.fail(
      `server name "${shown(text)}" is invalid`,
      index,
      '"*" is allowed only at the beginning or the end, next to a dot',
    )
  return { spec: { kind: 'name', name }, text: name.replace(/^\./, ''), call, index }
}

/** `server_name`. */
export const serverName = rule<readonly WrittenName[]>('server_name', {
  in: ['server'],
  args: [1, MANY],
  isMany: true,
  parse: (call) => call.every((at) => parseName(call, at)),
})

function withoutFinalSlash(dir: Template): Template {
  return trailingText(dir).endsWith('/') && !(dir.length === 1 && dir[0] === '/') ? withoutTrailing(dir, 1) : dir
}

/** A directory that has no files. nginx takes its own prefix for an empty path. */
const NOWHERE: Template = ['/dev/null']

/** `root`. */
export const root = rule<Pick<FilesSpec, 'kind' | 'dir'>>('root', {
  args: 1,
  slot: 'files',
  parse: (call) => {
    const own = /\$\{?(document_root|realpath_root)\b/.exec(call.arg(0))?.[1]
    if (own !== undefined) return call.fail(`the $${own} variable cannot be used in the "root" directive`, 0)
    if (call.arg(0) === '') {
      call.notice('"root" with an empty path names no directory: no file is found there', 'root ""')
      return { kind: 'root', dir: NOWHERE }
    }
    const dir = call.pathTemplate(0)
    call.tools.needs.addTemplate('root', dir, call.place)
    return dir === undefined ? undefined : { kind: 'root', dir: withoutFinalSlash(dir) }
  },
})

/** `alias`. */
export const alias = rule<Pick<FilesSpec, 'kind' | 'dir'>>('alias', {
  in: ['location'],
  args: 1,
  slot: 'files',
  parse: (call) => {
    const dir = call.pathTemplate(0)
    call.tools.needs.addTemplate('alias', dir, call.place)
    return dir === undefined ? undefined : { kind: 'alias', dir }
  },
})

/** `index`. */
export const index = rule<readonly Template[]>('index', {
  in: EVERYWHERE,
  args: [1, MANY],
  isMany: true,
  parse: (call) =>
    call.every((at, text) => (text === '' ? call.fail('index "" in "index" directive is invalid', at) : call.template(at))),
})

/** A path and where it is written. */
export interface WrittenPath {
  readonly path: string
  readonly call: DirectiveCall
}

/** Without variables. Relative paths are relative to the vhost file. */
function pathOf(call: DirectiveCall): WrittenPath | undefined {
  if (/\$[A-Za-z0-9_{]/.test(call.arg(0))) return call.fail(`"${call.name}" cannot have variables here`, 0)
  if (call.arg(0) === '') return call.invalidValue(0)
  return { path: resolve(call.baseDir, call.text(0)), call }
}

/** `ssl`: TLS on all addresses of a server. */
export const ssl = rule('ssl', { in: ['main', 'server'], args: 1, parse: (call) => call.flag(0) })

/** `ssl_certificate`: several for keys of different kinds. */
export const sslCertificate = rule('ssl_certificate', { in: ['main', 'server'], args: 1, isMany: true, parse: pathOf })

/** `ssl_certificate_key`. */
export const sslCertificateKey = rule('ssl_certificate_key', { in: ['main', 'server'], args: 1, isMany: true, parse: pathOf })

/** `ssl_password_file`. */
export const sslPasswordFile = rule('ssl_password_file', { in: ['main', 'server'], args: 1, parse: pathOf })

/** Suites of TLS 1.3, which have a list of their own. */
const TLS13_SUITE = /^TLS_/

/** `ssl_ciphers`: the ciphers of TLS 1.2, in the words of OpenSSL. */
export const sslCiphers = rule('ssl_ciphers', {
  in: ['main', 'server'],
  args: 1,
  parse: (call) => {
    const names = call
      .arg(0)
      .split(/[:, ;]+/)
      .filter((name) => name !== '' && !TLS13_SUITE.test(name))
    const ciphers = names.join(':')
    try {
      if (ciphers !== '') process.getBuiltinModule('node:tls').createSecureContext({ ciphers, maxVersion: 'TLSv1.2' })
    } catch {
      return call.fail(`no cipher matches "${shown(call.arg(0))}"`, 0, 'openssl ciphers -v LIST shows those of a list')
    }
    return ciphers === '' ? call.fail(`no cipher of TLS 1.2 is in "${shown(call.arg(0))}"`, 0) : ciphers
  },
})

/** `ssl_reject_handshake`. */
export const sslRejectHandshake = rule('ssl_reject_handshake', {
  in: ['main', 'server'],
  args: 1,
  parse: (call) => call.flag(0),
})

/** `ssl_protocols`: the lowest version. */
export const sslProtocols = rule<'1.2' | '1.3'>('ssl_protocols', {
  in: ['main', 'server'],
  args: [1, MANY],
  isMany: true,
  parse: (call) => {
    const versions = call.every((at) => call.oneOf(at, TLS_VERSIONS))
    if (versions === undefined) return undefined
    const old = versions.filter((version) => version !== 'TLSv1.2' && version !== 'TLSv1.3')
    if (old.length > 0) call.notice('versions before TLSv1.2 are not supported', 'ssl_protocols old')
    if (versions.includes('TLSv1.2')) {
      if (!versions.includes('TLSv1.3')) call.notice('TLSv1.3 is always enabled with TLSv1.2', 'ssl_protocols 1.3')
      return '1.2'
    }
    if (versions.includes('TLSv1.3')) return '1.3'
    return call.fail('none of these versions is supported', 0, 'set TLSv1.2 TLSv1.3')
  },
})

/** `svc_app`: the directory of an application. */
export const svcApp = rule('svc_app', { in: ['server', 'location'], args: 1, slot: 'content', parse: pathOf })

function parseIdentifier(call: DirectiveCall): string | undefined {
  const hint = `expected at most ${MAX_IDENTIFIER} characters of a-z, 0-9, ".", "_" and "-", starting with a letter or digit`
  return isIdentifier(call.arg(0)) ? call.arg(0) : call.invalidValue(0, hint)
}

/** `svc_site`. */
export const svcSite = rule('svc_site', { in: ['server'], args: 1, parse: parseIdentifier })

/** `svc_label`. */
export const svcLabel = rule('svc_label', { in: ['server'], args: 1, parse: parseIdentifier })

/** `svc_process`. */
export const svcProcess = rule('svc_process', {
  in: ['server'],
  args: 1,
  parse: (call) => call.oneOf(0, ['own', 'in-process'] as const),
})

/** `svc_tenant`. */
export const svcTenant = rule('svc_tenant', { in: ['server'], args: 1, parse: (call) => call.text(0) || call.invalidValue(0) })
