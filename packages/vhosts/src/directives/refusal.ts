import { refusedHint } from './refused.ts'

/** Values of refused directives that say just how this server behaves anyway. */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  brotli: ['on'],
  chunked_transfer_encoding: ['on'],
  client_body_in_file_only: ['off', 'clean'],
  dav_methods: ['off'],
  disable_symlinks: ['off'],
  fastcgi_bind: ['off'],
  fastcgi_force_ranges: ['off'],
  fastcgi_ignore_client_abort: ['off'],
  fastcgi_limit_rate: ['0'],
  fastcgi_store: ['off'],
  gunzip: ['off'],
  mirror: ['off'],
  override_charset: ['off'],
  proxy_bind: ['off'],
  proxy_force_ranges: ['off'],
  proxy_ignore_client_abort: ['off'],
  proxy_limit_rate: ['0'],
  proxy_store: ['off'],
  recursive_error_pages: ['off'],
  scgi_bind: ['off'],
  scgi_force_ranges: ['off'],
  scgi_ignore_client_abort: ['off'],
  scgi_limit_rate: ['0'],
  scgi_store: ['off'],
  slice: ['0'],
  ssi: ['off'],
  ssl_conf_command: ['Options PrioritizeChaCha'],
  userid: ['off'],
  uwsgi_bind: ['off'],
  uwsgi_force_ranges: ['off'],
  uwsgi_ignore_client_abort: ['off'],
  uwsgi_limit_rate: ['0'],
  uwsgi_store: ['off'],
}

const WHOLE_FILE = 'server.vhosts takes a whole nginx.conf, or the files that it includes inside http {}'

/** Why a directive is not read. */
export interface Refusal {
  readonly message: string
  readonly hint: string | undefined
  /** Refusals of one file with the same cause are reported once. */
  readonly cause: string | undefined
}

/** Values with which a refused directive is accepted: they ask for no more than there is. */
export function harmlessValues(name: string): readonly string[] {
  return Object.hasOwn(HARMLESS, name) ? (HARMLESS[name] ?? []) : []
}

/** The refusal of a directive that stands outside of `http {}` in a file that has no such block. */
export function outsideOfHttp(name: string): Refusal {
  return { message: `"${name}" belongs in nginx.conf, outside of http {}`, hint: WHOLE_FILE, cause: 'whole file' }
}

/** Why a directive that is not read here is not. Undefined: nginx does not know it either. */
export function refusalOf(name: string): Refusal | undefined {
  const hint = refusedHint(name)
  return hint === undefined ? undefined : { message: `directive "${name}" is not available here`, hint, cause: undefined }
}
