import { DirectiveCall, type ReadingTools } from '../directives/directive-call.ts'
import type { MapSpec, PatternSpec, Template } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import type { Directive } from '../syntax/directive.ts'
import { shown } from '../syntax/vhost-problems.ts'

interface Draft {
  readonly texts: Map<string, Template>
  readonly patterns: { readonly pattern: PatternSpec; readonly value: Template }[]
  fallback: Template | undefined
  areHostnames: boolean
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
      else call.notice('"volatile" has no effect here: map values are never cached across requests', 'map volatile')
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

/** Reads a `map` block. */
export function readMap(call: DirectiveCall, tools: ReadingTools, known: Map<string, DirectiveCall>): MapSpec | undefined {
  const source = call.template(0)
  const name = /^\$\{?([A-Za-z0-9_]+)\}?$/.exec(call.arg(1))?.[1]
  const draft: Draft = { texts: new Map(), patterns: [], fallback: undefined, areHostnames: false }
  for (const entry of call.directive.block ?? []) addEntry(draft, entry, tools)
  if (name === undefined) return call.fail(`invalid variable name "${shown(call.arg(1))}"`, 1)
  const before = known.get(name)
  if (before !== undefined) return call.fail(`the duplicate "${name}" variable`, 1, `first at ${formatPlace(before.place)}`)
  if (tools.variables.isBuiltIn(name)) return call.fail(`the duplicate "${name}" variable`, 1, 'it is a built-in variable')
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
  }
}
