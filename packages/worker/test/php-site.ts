import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  fetchHttp,
  type HttpAnswer,
  type HttpOptions,
  type PhpOptions,
  type PhpPeer,
  requireProgram,
  startPhpFpm,
  tempDir,
} from '@svc/testkit'
import { type ProxyServer, startProxy } from './proxy-server.ts'

/** The directives of Debian's php snippet that every PHP location has. */
export const PHP = `include fastcgi.conf; fastcgi_index echo.php; fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
  fastcgi_param PATH_INFO $fastcgi_path_info;`

/** A PHP application behind a server of this process. */
export interface PhpSite {
  readonly php: PhpPeer
  readonly server: ProxyServer
  /** Directory of the scripts; what is there goes away with the test. */
  readonly dir: string
  get(path: string, options?: HttpOptions): Promise<HttpAnswer>
}

/** Options of a test. */
export interface PhpSiteOptions extends PhpOptions {
  /** Further directives of the location. */
  readonly directives?: string
  /** Further directives of the server. */
  readonly locations?: string
  /** Directives outside of the server; `{php}` is the address. */
  readonly outside?: string
  /** In place of the address. */
  readonly pass?: string
  readonly engine?: 'uws' | 'node'
  /** Further lines of the configuration file. */
  readonly config?: string
}

/** A copy of the PHP scripts of the tests. */
export function phpFiles(t: TestContext): string {
  const dir = tempDir(t, 'www')
  cpSync(join(import.meta.dirname, 'fixtures/php'), dir, { recursive: true })
  return dir
}

/** Starts php-fpm and a server in front of it. Undefined: there is no PHP, and the test is skipped. */
export async function startPhpSite(t: TestContext, options: PhpSiteOptions = {}): Promise<PhpSite | undefined> {
  const executable = requireProgram(t, 'php-fpm')
  if (executable === undefined) return undefined
  const php = await startPhpFpm(t, executable, options)
  const dir = phpFiles(t)
  const { directives = '', locations = '', outside = '', pass = php.address, engine = 'uws', config = '' } = options
  const server = await startProxy(
    t,
    `root ${dir}; ${locations} location ~ \\.php(/|$) { ${directives} fastcgi_pass ${pass}; ${PHP} }`,
    { outside: outside.replaceAll('{php}', php.address), config: `state_dir = "${join(dir, 'state')}"\n${config}`, engine },
  )
  return { php, server, dir, get: (path, more) => fetchHttp(`http://127.0.0.1:${server.port}${path}`, more) }
}
