import { DirectiveCall, type ReadingTools } from '../directives/directive-call.ts'
import type { MapSpec, PatternSpec, Template } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import type { Directive } from '../syntax/source-file.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { variablesOf } from '../values/template.ts'

interface Draft {
  readonly texts: Map<string, Template>
  readonly patterns: { readonly pattern: PatternSpec; readonly value: Template }[]
  fallback: Template | undefined
  areHostnames: boolean
  isVolatile: boolean
}

const FLAGS = ['hostnames', 'volatile']

/** A name, or one with "*" beside a dot at one of its ends. */
function isHostname(text: string): boolean {
  const bare = text.replace(/^\*\.(?=.)|(?<=.)\.\*$/, '')
  return !bare.includes('*') && !text.includes('..')
}

function addEntry(draft: Draft, entry: Directive, tools: ReadingTools): void {
  const call = new DirectiveCall(entry, tools)
  const key = call.name
  if (entry.block !== undefined || call.args.length !== 1) {
    if (entry.block === undefined && call.args.length === 0 && FLAGS.includes(key)) {
      if (key === 'hostnames') draft.areHostnames = true
      else draft.isVolatile = true
      return
    }
    call.fail('invalid number of the map parameters')
    return
  }
  const value = call.template(0)
  if (value === undefined) return
  if (key === 'default') {
    if (draft.fallback !== undefined) call.fail('duplicate default map parameter')
    draft.fallback = value
  } else if (key.startsWith('~')) {
    const isCaseless = key.startsWith('~*')
    const found = call.pattern(-1, isCaseless, key.slice(isCaseless ? 2 : 1))
    if (found !== undefined) draft.patterns.push({ pattern: found.pattern, value })
  } else {
    // A backslash keeps a word such as "default" from its meaning.
    const text = (key.startsWith('\\') ? key.slice(1) : key).toLowerCase()
    if (draft.areHostnames && !isHostname(text)) call.fail(`invalid hostname or wildcard "${shown(key)}"`)
    if (draft.texts.has(text)) call.fail(`conflicting parameter "${shown(key)}"`)
    draft.texts.set(text, value)
  }
}

/** As in nginx, the last definition of a variable counts. */
export function noteRedefinition(call: DirectiveCall, name: string, known: ReadonlyMap<string, DirectiveCall>): void {
  const before = known.get(name)
  if (before === undefined) return
  call.notice(
    `"$${shown(name)}" is defined here again: the definition at ${formatPlace(before.place)} does not count`,
    `again ${name}`,
  )
}

/** Reads a `map` block. */
export function readMap(call: DirectiveCall, tools: ReadingTools, known: Map<string, DirectiveCall>): MapSpec | undefined {
  const source = call.template(0)
  const name = /^\$\{?([A-Za-z0-9_]+)\}?$/.exec(call.arg(1))?.[1]
  const draft: Draft = { texts: new Map(), patterns: [], fallback: undefined, areHostnames: false, isVolatile: false }
  for (const entry of call.directive.block ?? []) addEntry(draft, entry, tools)
  if (name === undefined) return call.fail(`invalid variable name "${shown(call.arg(1))}"`, 1)
  noteRedefinition(call, name, known)
  if (tools.variables.isFixed(name)) return call.fail(`the duplicate "${name}" variable`, 1, 'it is a built-in variable')
  known.set(name, call)
  tools.variables.define(name)
  if (source === undefined) return undefined
  const texts = [...draft.texts].map(([text, value]) => ({ text, value }))
  return {
    variable: name,
    source,
    texts,
    patterns: draft.patterns,
    fallback: draft.fallback ?? [],
    areHostnames: draft.areHostnames,
    isVolatile: draft.isVolatile,
  }
}

/** nginx's: so many variables may be made from each other. */
const MAX_DEPTH = 100

type Graph = ReadonlyMap<string, readonly string[]>

/**
 * Reports maps that are made from each other in a circle, and those that lie too deep, at the variable that they define. nginx
 * notices when a request reads them. Not recursive: a chain may be as long as a file.
 */
export function checkMaps(
  maps: readonly MapSpec[],
  computed: readonly { readonly variable: string; readonly source: Template | undefined }[],
  calls: ReadonlyMap<string, DirectiveCall>,
): void {
  const reads = [
    ...maps.map((map) => [map.variable, readsOf(map)] as const),
    ...computed.map(({ variable, source }) => [variable, variablesOf(source ?? [])] as const),
  ]
  const names = new Set(reads.map(([variable]) => variable))
  const graph: Graph = new Map(reads.map(([variable, read]) => [variable, read.filter((name) => names.has(name))]))
  const depths = depthsOf(graph)
  for (const [name, depth] of depths) {
    // Deeper chains contain this one and need no report. The variable that the innermost reads counts as well.
    if (depth === MAX_DEPTH) {
      calls
        .get(name)
        ?.fail(
          `variable "${name}" depends on too many other variables`,
          1,
          `at most ${MAX_DEPTH} variables may depend on each other`,
        )
    }
  }
  for (const circle of circlesOf(graph, depths)) reportCircle(circle, calls)
}

/** Variables that a map reads. A variable that a pattern captures by name is no other map's. */
function readsOf({ source, texts, patterns, fallback }: MapSpec): string[] {
  const captured = patterns.flatMap(({ pattern, value }) => variablesOf(value).filter((name) => !pattern.names.includes(name)))
  const written = [source, fallback, ...texts.map(({ value }) => value)].flatMap(variablesOf)
  return [...new Set([...written, ...captured])]
}

/** Depth of each map from which no cycle is reached: the longest chain of maps that it reads. */
function depthsOf(graph: Graph): ReadonlyMap<string, number> {
  const readers = new Map<string, string[]>([...graph.keys()].map((name) => [name, []]))
  for (const [name, reads] of graph) for (const read of reads) readers.get(read)?.push(name)
  const unread = new Map([...graph].map(([name, reads]) => [name, reads.length]))
  const depths = new Map<string, number>()
  const ready = [...graph.keys()].filter((name) => unread.get(name) === 0)
  for (const name of ready) {
    const depth = (graph.get(name) ?? []).reduce((most, read) => Math.max(most, depths.get(read) ?? 0), 0) + 1
    depths.set(name, depth)
    for (const reader of readers.get(name) ?? []) {
      const left = (unread.get(reader) ?? 0) - 1
      unread.set(reader, left)
      if (left === 0) ready.push(reader)
    }
  }
  return depths
}

/** The cycles among the maps without a depth. Each of these reads another one, so that every path ends in a cycle. */
function circlesOf(graph: Graph, depths: ReadonlyMap<string, number>): string[][] {
  const circles: string[][] = []
  const seen = new Set<string>()
  for (const start of graph.keys()) {
    const way: string[] = []
    let name: string | undefined = depths.has(start) ? undefined : start
    while (name !== undefined && !seen.has(name)) {
      seen.add(name)
      way.push(name)
      name = graph.get(name)?.find((read) => !depths.has(read))
    }
    const begin = name === undefined ? -1 : way.indexOf(name)
    if (begin !== -1) circles.push(way.slice(begin))
  }
  return circles
}

const MAX_SHOWN = 5

function reportCircle(circle: readonly string[], calls: ReadonlyMap<string, DirectiveCall>): void {
  const [first = ''] = circle
  const call = calls.get(first)
  const others = circle.slice(1, MAX_SHOWN + 1).map((name) => {
    const place = calls.get(name)?.place
    return `$${name}${place === undefined ? '' : ` (${formatPlace(place)})`}`
  })
  const more = circle.length > MAX_SHOWN + 1 ? ['...'] : []
  call?.fail(`cycle while evaluating variable "${first}"`, 1, `$${[first, ...others, ...more, `$${first}`].join(' reads ')}`)
}
