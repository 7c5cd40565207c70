import { createHash } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { DirectiveCall } from '../directives/directive-call.ts'
import { svcSite, type WrittenName } from '../directives/serving.ts'
import type { LocationMatch } from '../spec/spec.ts'
import { formatPlace, type Place } from '../syntax/config-problem.ts'
import { decodeBytes } from '../syntax/source-file.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { isIdentifier, MAX_IDENTIFIER } from '../values/identifier.ts'
import type { Level } from './level.ts'

/** Id of the site of servers that answer any host: the default server of most nginx configurations. */
const CATCH_ALL = 'default'
const PATTERN_DIGITS = 8
const NAME_DIGITS = 6

/** @param text one character for each byte */
function digestOf(text: string, digits: number): string {
  return createHash('sha256').update(text, 'latin1').digest('hex').slice(0, digits)
}

/** Makes an id of a text that is none by itself, or that is taken: its legal characters, and a digest of what it stands for. */
function withDigest(text: string, source: string): string {
  const legal = text.replace(/[^a-z0-9._-]+/g, '-').replace(/^[._-]+/, '')
  return `${(legal || 'name').slice(0, MAX_IDENTIFIER - NAME_DIGITS - 1)}-${digestOf(source, NAME_DIGITS)}`
}

/** Writes `*.suffix` and `prefix.*` with words, and other alphabets as DNS does. */
function plainName(name: string): string {
  const text = name.replace(/^\*\./, 'wildcard.').replace(/\.\*$/, '.any')
  return /^[\0-\x7f]*$/.test(text) ? text : domainToASCII(decodeBytes(text)) || text
}

function isCatchAll({ spec }: WrittenName): boolean {
  return spec.kind === 'name' && (spec.name === '' || spec.name === '_')
}

/** Makes the id of a server of its first name, always the same for one name. */
function siteIdOfName(first: WrittenName | undefined): string {
  if (first === undefined || isCatchAll(first)) return CATCH_ALL
  if (first.spec.kind === 'pattern') return `pattern-${digestOf(first.text, PATTERN_DIGITS)}`
  const plain = plainName(first.text)
  return isIdentifier(plain) ? plain : withDigest(plain, first.text)
}

/** A first name, for comparison and for messages. */
function nameKey(first: WrittenName | undefined): string {
  if (first === undefined || isCatchAll(first)) return '_'
  return first.spec.kind === 'pattern' ? `~${first.text}` : first.text
}

/** Gives servers the ids of their sites: `svc_site`, else the id that their first name makes. */
export class SiteIds {
  /** Names that ids were made of. */
  readonly #sources = new Map<string, { readonly name: string; readonly place: Place }>()

  /** The id of a server's site. Reports a name that leads to the id of another name. */
  of(level: Level, names: readonly WrittenName[], call: DirectiveCall): string {
    const given = level.value(svcSite)
    if (given !== undefined) return given
    const [first] = names
    const id = siteIdOfName(first)
    const name = nameKey(first)
    const known = this.#sources.get(id)
    if (known === undefined) {
      this.#sources.set(id, { name, place: first?.call.argPlace(first.index) ?? call.place })
      return id
    }
    if (known.name === name) return id
    const other = `"${shown(known.name)}" at ${formatPlace(known.place)}`
    const message = `server name "${shown(name)}" results in the same site id "${id}" as ${other}`
    const hint = 'write svc_site <id>; in one of the two servers'
    if (first === undefined) call.fail(message, undefined, hint)
    else first.call.fail(message, first.index, hint)
    // Of its own, so that the two are not compared as one site.
    return withDigest(id, name)
  }
}

/** Id of the site of a location's application: legal, and telling where it belongs. */
export function locationSiteId(site: string, match: LocationMatch, taken: ReadonlySet<string>): string {
  const text = match.kind === 'pattern' ? match.pattern.source : match.kind === 'named' ? match.name : match.path
  const slug =
    text
      .toLowerCase()
      .replace(/[^a-z0-9._]+/g, '-')
      .replace(/^-+|-+$/g, '') || 'root'
  const plain = `${site}--${slug}`
  return isIdentifier(plain) && !taken.has(plain) ? plain : withDigest(plain, `${site} ${match.kind} ${text}`)
}
