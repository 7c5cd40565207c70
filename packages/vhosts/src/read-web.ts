import { deepFreeze, Pacer, whyUnreadable } from '@svc/core'
import { checkFormats } from './blocks/access-logs.ts'
import { addressesOfUws, checkHeaderBuffers, checkServers, type ServerSurroundings } from './blocks/check-servers.ts'
import { readGeo, readSplit } from './blocks/computed.ts'
import { Level } from './blocks/level.ts'
import { checkZones, readZones } from './blocks/limits.ts'
import { checkMaps, readMap } from './blocks/map.ts'
import { type ServerDraft, ServerReader } from './blocks/server.ts'
import { checkSiteNames, type SiteDraft, siteDrafts } from './blocks/site-drafts.ts'
import { SiteIds } from './blocks/site-id.ts'
import { UpstreamTable } from './blocks/upstream-table.ts'
import { eventsBlock, geoBlock, httpBlock, mapBlock, serverBlock, splitClientsBlock, upstreamBlock } from './directives/blocks.ts'
import type { DirectiveCall, ReadingTools } from './directives/directive-call.ts'
import { type NeededPath, NeededPaths } from './directives/needed-paths.ts'
import { serverName } from './directives/serving.ts'
import { addBuiltInTypes, typesBlock } from './directives/types.ts'
import { findGlob, isGlob } from './files/glob.ts'
import { isWholeConfiguration, VhostFiles } from './files/read-files.ts'
import type { WebSpec } from './spec/spec.ts'
import type { ConfigProblem, Place } from './syntax/config-problem.ts'
import type { Directive } from './syntax/source-file.ts'
import { type IgnoredDirective, VhostProblems } from './syntax/vhost-problems.ts'
import { VariableTable } from './variables/variable-table.ts'

/** Inputs of reading vhost files. */
interface WebSource {
  /** Absolute globs of `server.vhosts`, and where they are written. */
  readonly globs: readonly { readonly glob: string; readonly place: Place }[]
  /** Directory of the config file. */
  readonly baseDir: string
  readonly surroundings: ServerSurroundings
}

/** Vhost files, read: complete only when there are no problems. */
export interface ReadWeb {
  readonly web: WebSpec
  readonly sites: readonly SiteDraft[]
  /** Paths that requests will need. */
  readonly needs: readonly NeededPath[]
  readonly problems: readonly ConfigProblem[]
  readonly notices: readonly string[]
  /** Directives that have no effect here: one of the notices sums them up. */
  readonly ignored: readonly IgnoredDirective[]
  /** Absolute paths of all files that were read. */
  readonly files: readonly string[]
  /** Bytes of the largest request head that a server takes; 0: none says. */
  readonly headerBytes: number
}

/** The vhost files of all globs, each once. */
async function vhostFiles({ globs }: WebSource, problems: VhostProblems): Promise<string[]> {
  const files: string[] = []
  for (const { glob, place } of globs) {
    let isWhole = true
    const found = await findGlob(glob, (dir, error) => {
      isWhole = false
      problems.add(place, `${dir} ${whyUnreadable(error)}`)
    })
    if (found.length === 0 && isWhole && isGlob(glob)) problems.notice(`glob ${glob}`, place, `no file matches ${glob}`)
    else if (found.length === 0 && isWhole) problems.add(place, `no such file: ${glob}`)
    files.push(...found)
  }
  return [...new Set(files)]
}

/** Reads a file into the main level: of a whole nginx.conf its `http {}`. */
function readFile(directives: readonly Directive[], main: Level, tools: ReadingTools): void {
  if (!isWholeConfiguration(directives)) {
    main.read(directives, tools)
    return
  }
  const core = new Level('core')
  core.read(directives, tools)
  main.isWhole = true
  for (const { directive } of core.own(eventsBlock)) new Level('events').read(directive.block ?? [], tools)
  for (const { directive } of core.own(httpBlock)) main.read(directive.block ?? [], tools)
}

function readMaps(main: Level, tools: ReadingTools): Pick<WebSpec, 'maps' | 'computed'> {
  const known = new Map<string, DirectiveCall>()
  const maps = new Map<string, WebSpec['maps'][number]>()
  const computed = new Map<string, WebSpec['computed'][number]>()
  const read = { [mapBlock.name]: readMap, [geoBlock.name]: readGeo, [splitClientsBlock.name]: readSplit }
  // They share a slot, which has them in their order.
  for (const call of main.own(mapBlock)) {
    const spec = read[call.name]?.(call, tools, known)
    if (spec === undefined) continue
    maps.delete(spec.variable)
    computed.delete(spec.variable)
    if ('kind' in spec) computed.set(spec.variable, spec)
    else maps.set(spec.variable, spec)
  }
  checkMaps([...maps.values()], [...computed.values()], known)
  return { maps: [...maps.values()], computed: [...computed.values()] }
}

/** Reads the server blocks. There may be thousands, and the master has others waiting for it meanwhile. */
async function readServers(main: Level, tools: ReadingTools, upstreams: UpstreamTable): Promise<ServerDraft[]> {
  const drafts: ServerDraft[] = []
  const ids = new SiteIds()
  const pacer = new Pacer()
  for (const call of main.own(serverBlock)) {
    const level = new Level('server', main)
    level.read(call.directive.block ?? [], tools)
    const names = level.own(serverName).flat()
    const draft = new ServerReader(call, { tools, upstreams, level, site: ids.of(level, names, call) }).read(names)
    deepFreeze(draft.spec)
    drafts.push(draft)
    if (pacer.isDue) await pacer.rest()
  }
  return drafts
}

/** Problems from top to bottom, of one file after the other; those about a file as a whole come last. */
function inFileOrder(problems: readonly ConfigProblem[], files: readonly string[]): ConfigProblem[] {
  const order = new Map(files.map((file, index) => [file, index]))
  const rank = ({ file }: ConfigProblem) => order.get(file) ?? -1
  const line = (problem: ConfigProblem) => problem.line || Number.MAX_SAFE_INTEGER
  return problems.toSorted((a, b) => rank(a) - rank(b) || line(a) - line(b) || a.column - b.column)
}

/** Reads the vhost files of a configuration. Never throws, whatever is in them. */
export async function readWeb(source: WebSource): Promise<ReadWeb> {
  const problems = new VhostProblems()
  const needs = new NeededPaths()
  const directories = new Map<string, string>()
  const variables = new VariableTable()
  const tools: ReadingTools = { problems, variables, needs, directories, typeTables: [], origins: new WeakMap() }
  if (source.globs.length === 0)
    return {
      web: {
        servers: [],
        upstreams: [],
        maps: [],
        computed: [],
        limitZones: [],
        typeTables: [],
        recordsUpstreams: false,
        recordsBodies: false,
      },
      sites: [],
      needs: [],
      problems: [],
      notices: [],
      ignored: [],
      files: [],
      headerBytes: 0,
    }
  const files = new VhostFiles(problems, source.baseDir, directories)
  const main = new Level('main')
  for (const file of await vhostFiles(source, problems)) readFile(await files.load(file), main, tools)
  // Other files have their types from an nginx.conf that is not read.
  if (main.isWhole) main.give(typesBlock, () => addBuiltInTypes(tools.typeTables))
  checkFormats(main, tools)
  const upstreams = new UpstreamTable()
  for (const call of main.own(upstreamBlock)) upstreams.addGroup(call, main, tools)
  const { maps, computed } = readMaps(main, tools)
  const limitZones = readZones(main)
  const drafts = await readServers(main, tools, upstreams)
  if (files.areWhole) tools.variables.check(problems, addressesOfUws(drafts, source.surroundings))
  checkServers(drafts, source.surroundings, tools)
  const headerBytes = checkHeaderBuffers(drafts, source.surroundings)
  const sites = siteDrafts(drafts)
  checkSiteNames(sites, source.surroundings.taken, problems)
  const servers = drafts.map(({ spec }) => spec)
  checkZones(servers, limitZones, tools)
  const web: WebSpec = {
    ...{ servers, upstreams: upstreams.specs, maps, computed, limitZones, typeTables: tools.typeTables },
    recordsUpstreams: tools.variables.recordsUpstreams,
    recordsBodies: tools.variables.recordsBodies,
  }
  const { notices, ignored } = problems
  const ordered = inFileOrder(problems.problems, files.files)
  return { web, sites, needs: needs.all, problems: ordered, notices, ignored, files: files.files, headerBytes }
}
