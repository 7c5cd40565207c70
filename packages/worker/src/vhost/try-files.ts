import type { Template, TryFilesSpec } from '@svc/vhosts'
import type { InnerTarget, Outcome, PhaseRun } from './phase-run.ts'
import type { RunState } from './run-state.ts'
import { readForAnswer } from './templates.ts'

/** Looks for the first candidate that is there, which becomes the path. Undefined: it goes on with that path. */
export function tryFiles(run: PhaseRun, { candidates, last }: TryFilesSpec): Outcome | undefined {
  const { state, tools } = run
  // The path is not below the location any more.
  if (!state.isPrefixValid && state.location.files?.kind === 'alias') return run.fail(500)
  for (const { path: template, isDirectory } of candidates) {
    const uri = uriOf(state, readForAnswer(state, tools.templates.of(template)), isConstant(template))
    const path = state.location.files?.path(state, uri, true)
    if (path === undefined || run.look(path) !== (isDirectory ? 'directory' : 'file')) continue
    found(state, uri, isDirectory)
    return undefined
  }
  switch (last.kind) {
    case 'status':
      return run.fail(last.status)
    case 'named':
      return run.goInside({ named: last.name })
    case 'uri':
      return run.goInside(targetOf(lastOf(state, readForAnswer(state, tools.templates.of(last.uri)), isConstant(last.uri))))
  }
}

/** The target of a text with expanded variables: a named location, or a path. */
export function targetOf(text: string): InnerTarget {
  return text.startsWith('@') ? { named: text.slice(1) } : splitArgs(text)
}

/** Splits a text with expanded variables at its first "?". */
function splitArgs(text: string): { readonly uri: string; readonly args: string } {
  const question = text.indexOf('?')
  return question === -1 ? { uri: text, args: '' } : { uri: text.slice(0, question), args: text.slice(question + 1) }
}

/** With `alias`, a candidate is relative to the location; a text with expanded variables may contain the location's text already. */
function uriOf({ location }: RunState, candidate: string, isFixed: boolean): string {
  const { files } = location
  if (files?.kind !== 'alias' || files.prefix === '') return candidate
  return !isFixed && candidate.startsWith(files.prefix) ? candidate : files.prefix + candidate
}

/**
 * With `alias`, nginx removes the location's text from expanded variables here too. Configurations know that and write it
 * twice: `/app//app/index.php?$args`.
 */
function lastOf({ location }: RunState, uri: string, isFixed: boolean): string {
  const { files } = location
  return files?.kind === 'alias' && !isFixed && uri.startsWith(files.prefix) ? uri.slice(files.prefix.length) : uri
}

function isConstant(template: Template): boolean {
  return template.every((piece) => typeof piece === 'string')
}

function found(state: RunState, uri: string, isDirectory: boolean): void {
  const isPattern = state.location.files?.kind === 'alias' && state.location.files.prefix === ''
  // The path of a pattern with `alias` stands for all of it; only a file is added.
  if (isPattern && isDirectory) return
  state.uri = uri
  state.addsUriToAlias = isPattern
}
