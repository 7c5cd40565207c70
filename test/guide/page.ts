import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from '@svc/testkit'

/** A block of shell on a page, with the output that the page shows below it. */
export interface Block {
  readonly commands: readonly string[]
  /** Undefined: the page shows none. */
  readonly shown: string | undefined
}

const BLOCK = /^```sh\n([\s\S]*?)^```$(?:\n\n```text\n([\s\S]*?)^```$)?/gm

/** The commands of a block; one with a here-document or a line that goes on has several lines. */
function commandsOf(block: string): string[] {
  const commands: string[] = []
  let pending = ''
  let end: string | undefined
  for (const line of block.trimEnd().split('\n')) {
    pending += pending === '' ? line : `\n${line}`
    if (end === undefined && / <<'(\w+)'$/.test(line)) end = /<<'(\w+)'$/.exec(line)?.[1]
    else if (end !== undefined && line === end) end = undefined
    if (end !== undefined || /[\\|]$/.test(line)) continue
    if (pending.trim() !== '') commands.push(pending)
    pending = ''
  }
  return commands
}

export function readPage(name: string): string {
  return readFileSync(join(repositoryRoot, 'docs', name), 'utf8')
}

/** The blocks of shell of a page, in their order. */
export function blocksOf(page: string): Block[] {
  return Array.from(page.matchAll(BLOCK), ([, block = '', shown]) => ({ commands: commandsOf(block), shown }))
}

/** A pattern of the output that a page shows: three dots stand for any part of a line, and alone for any lines. */
export function patternOf(shown: string): RegExp {
  const lines = shown
    .trimEnd()
    .split('\n')
    .map((line) =>
      line === '...' ? '(?:.*\\n)*?' : `${line.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('\\.\\.\\.', '.*')}\\n`,
    )
  return new RegExp(`^${lines.join('')}$`)
}
