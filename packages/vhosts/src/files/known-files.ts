import { basename } from 'node:path'
import type { Directive } from '../syntax/directive.ts'

interface KnownFile {
  /** A directive that it has on most systems, and that is not known here. */
  readonly directive: string
  readonly hint: string
}

/** Files of other packages that are included in most systems with nginx. Nobody should have to edit them. */
const KNOWN_FILES: Readonly<Record<string, KnownFile>> = {
  'fastcgi-php.conf': {
    directive: 'set',
    hint: 'write in its place: try_files $uri =404; fastcgi_index index.php; include fastcgi.conf;',
  },
  'options-ssl-nginx.conf': {
    directive: 'ssl_prefer_server_ciphers',
    hint: 'leave the include out: protocols and ciphers are good without it',
  },
}

const PARAMETER_FILES: ReadonlySet<string> = new Set(['fastcgi.conf', 'fastcgi_params'])

/** What to do about a file that is not there because nginx is not. Nothing for an ordinary file. */
export function withoutNginx(path: string): string[] {
  const name = basename(path)
  if (PARAMETER_FILES.has(name)) return ['it comes with nginx, and docs/fastcgi.md has its lines']
  const hint = Object.hasOwn(KNOWN_FILES, name) ? KNOWN_FILES[name]?.hint : undefined
  return hint === undefined ? [] : [hint]
}

/** What to write in place of the include of a file that cannot be read as it is. Undefined: it is an ordinary file. */
export function inPlaceOf(path: string, directives: readonly Directive[]): KnownFile | undefined {
  const name = basename(path)
  const known = Object.hasOwn(KNOWN_FILES, name) ? KNOWN_FILES[name] : undefined
  return known !== undefined && directives.some((directive) => directive.name.text === known.directive) ? known : undefined
}
