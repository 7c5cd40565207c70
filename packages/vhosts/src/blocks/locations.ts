import * as answers from '../directives/answers.ts'
import { limitExceptBlock, locationBlock, type WrittenLocation } from '../directives/blocks.ts'
import type { WrittenIf } from '../directives/conditions.ts'
import type { DirectiveCall, ReadingTools } from '../directives/directive-call.ts'
import * as rewriting from '../directives/rewriting.ts'
import * as serving from '../directives/serving.ts'
import { proxyPass } from '../directives/upstreams.ts'
import type { ContentSpec, LocationMatch, LocationSpec, RewriteStep } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { Level } from './level.ts'
import { appOf, inheritedContent, settingsOf } from './settings.ts'
import { locationSiteId } from './site-id.ts'
import { upstreamContent } from './upstream-content.ts'
import type { UpstreamTable } from './upstream-table.ts'

/** An application that a vhost file names. */
export interface AppDraft {
  readonly id: string
  readonly dir: string
  readonly call: DirectiveCall
}

/** Key of the match of a location: two with the same are duplicates. nginx tries patterns in their order and does not compare them. */
function matchKey(match: LocationMatch): string {
  if (match.kind === 'pattern') return ''
  return `${match.kind} ${match.kind === 'named' ? match.name : match.path}`
}

/** Locations inside each other. */
const MAX_NESTED = 16

/** The server around locations. */
interface LocationParts {
  readonly tools: ReadingTools
  readonly upstreams: UpstreamTable
  /** Id of its site. */
  readonly site: string
  readonly serverApp: ContentSpec | undefined
}

/** A location that is being read, for what is inside of it. */
interface OpenLocation {
  readonly match: LocationMatch
  readonly content: ContentSpec
}

/** Writes the place of a directive as "file:line". */
export function placeText(call: DirectiveCall): string {
  const { file, line } = call.place
  return `${file}:${line}`
}

/** Reports an `auth_basic` without users. */
export function checkAuth(level: Level, call: DirectiveCall): void {
  const realm = level.value(answers.authBasic)
  if (realm !== undefined && realm !== 'off' && level.value(answers.authBasicUserFile) === undefined) {
    call.fail('"auth_basic" needs "auth_basic_user_file"')
  }
}

/** Reads the locations of one server, and the rewriting of its levels. */
export class LocationReader {
  readonly #parts: LocationParts
  readonly #apps: AppDraft[] = []
  #depth = 0

  constructor(parts: LocationParts) {
    this.#parts = parts
  }

  /** Applications of the locations that were read. */
  get apps(): readonly AppDraft[] {
    return this.#apps
  }

  /** Reads the locations of a level. */
  locations(level: Level): LocationSpec[] {
    const seen = new Map<string, DirectiveCall>()
    return level.own(locationBlock).map((written) => {
      const { match, call } = written
      const key = matchKey(match)
      const before = seen.get(key)
      if (key !== '' && before !== undefined) {
        const name = shown(call.args.at(-1) ?? '')
        call.fail(`duplicate location "${name}"`, call.args.length - 1, `first at ${formatPlace(before.place)}`)
      }
      seen.set(key, call)
      checkNesting(written, level.match)
      return this.#location(written, level)
    })
  }

  /** The rewriting of a level. Without a location, `if` has no settings of its own. */
  steps(level: Level, location: OpenLocation | undefined): RewriteStep[] {
    return level.own(rewriting.rewrite).map((step) => ('call' in step ? this.#ifStep(step, level, location) : step))
  }

  #ifStep({ call, condition }: WrittenIf, outer: Level, location: OpenLocation | undefined): RewriteStep {
    const level = new Level(location === undefined ? 'if in server' : 'if in location', outer, outer.match)
    level.read(call.directive.block ?? [], this.#parts.tools)
    const steps = this.steps(level, location)
    if (location === undefined) return { kind: 'if', condition, steps, settings: undefined }
    const content = this.#passed(level, location.match) ?? location.content
    return { kind: 'if', condition, steps, settings: settingsOf(level, content, []) }
  }

  #location({ match, call }: WrittenLocation, outer: Level): LocationSpec {
    const level = new Level('location', outer, match)
    level.read(call.directive.block ?? [], this.#parts.tools)
    const [dir] = level.own(serving.root)
    if (dir?.kind === 'alias' && match.kind === 'named')
      call.fail('the "alias" directive cannot be used inside the named location')
    const content = this.#content(level, match)
    const settings = settingsOf(level, content, this.steps(level, { match, content }))
    checkAuth(level, call)
    const limitExcept = this.#limited(level, { match, content })
    return { ...settings, match, place: placeText(call), limitExcept, locations: this.#nested(level, call) }
  }

  #limited(outer: Level, { match, content }: OpenLocation): LocationSpec['limitExcept'] {
    const [written] = outer.own(limitExceptBlock)
    if (written === undefined) return undefined
    const level = new Level('limit_except', outer, match)
    level.read(written.call.directive.block ?? [], this.#parts.tools)
    checkAuth(level, written.call)
    const settings = settingsOf(level, this.#passed(level, match) ?? contentOfLimited(content), [])
    return { methods: written.methods, settings }
  }

  #nested(level: Level, call: DirectiveCall): LocationSpec[] {
    if (this.#depth >= MAX_NESTED) {
      if (level.own(locationBlock).length > 0) call.fail(`more than ${MAX_NESTED} locations are inside each other`)
      return []
    }
    this.#depth++
    const locations = this.locations(level)
    this.#depth--
    return locations
  }

  #content(level: Level, match: LocationMatch): ContentSpec {
    const app = appOf(level)
    if (app === undefined) return this.#passed(level, match) ?? inheritedContent(level, this.#parts.serverApp)
    const id = locationSiteId(this.#parts.site, match, new Set(this.#apps.map((known) => known.id)))
    this.#apps.push({ id, dir: app.path, call: app.call })
    return { kind: 'app', site: id }
  }

  /** The upstream of a level itself, or another content that is no file. Undefined: it names none. */
  #passed(level: Level, match: LocationMatch): ContentSpec | undefined {
    const [pass] = level.own(proxyPass)
    if (pass !== undefined && 'kind' in pass && (pass.kind === 'empty_gif' || pass.kind === 'stub_status'))
      return { kind: pass.kind }
    if (pass === undefined || !('scheme' in pass)) return undefined
    const target = this.#parts.upstreams.target(pass)
    return target === undefined ? { kind: 'files' } : upstreamContent(level, pass, target, match)
  }
}

/** The handler of a `limit_except` that names none. Unlike upstreams, `empty_gif` and `stub_status` are not inherited, as in nginx. */
function contentOfLimited(outer: ContentSpec): ContentSpec {
  return outer.kind === 'empty_gif' || outer.kind === 'stub_status' ? { kind: 'files' } : outer
}

/** A location inside another one must be a part of it. */
function checkNesting({ match, call }: WrittenLocation, outer: LocationMatch | undefined): void {
  if (outer === undefined) return
  const name = shown(call.args.at(-1) ?? '')
  if (outer.kind === 'exact') call.fail(`location "${name}" cannot be inside the exact location "${shown(outer.path)}"`)
  else if (outer.kind === 'named') call.fail(`location "${name}" cannot be inside the named location "@${shown(outer.name)}"`)
  else if (match.kind === 'named') call.fail(`named location "@${shown(match.name)}" can be on the server level only`)
  else if (match.kind !== 'pattern') {
    const around = outer.kind === 'pattern' ? outer.pattern.source : outer.path
    if (!match.path.startsWith(around)) call.fail(`location "${name}" is outside location "${shown(around)}"`)
  }
}
