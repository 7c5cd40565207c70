import { wrapWords } from '@svc/core'
import { type DirectiveEntry, directiveTable } from './directive-table.ts'
import { foreignPrefixes } from './refused.ts'

const LINE_WIDTH = 117

function nameWords(entries: readonly DirectiveEntry[], end: string): string[] {
  const names = [...new Set(entries.map(textOf))].toSorted()
  return names.flatMap((name, index) => `${name}${index === names.length - 1 ? end : ','}`.split(' '))
}

function textOf({ name, accepted }: DirectiveEntry): string {
  return accepted.length === 0 ? `\`${name}\`` : `\`${name}\` (but for \`${accepted.join('`, `')}\`)`
}

/** One item for each reason, with all directives that have it. */
function itemsByReason(entries: readonly DirectiveEntry[]): string {
  const groups = [...Map.groupBy(entries, ({ note }) => note)]
  return groups
    .flatMap(([reason, some]) => {
      const words = [...nameWords(some, ':'), ...reason.split(' ')]
      return wrapWords([...words.slice(0, -1), `${words.at(-1)}.`], LINE_WIDTH, '-', ' ')
    })
    .join('\n')
}

/** The page of the directives of nginx that have no effect here, and of those that are errors, in Markdown. */
export function rejectedDirectivesPage(): string {
  const table = directiveTable()
  const of = (kind: DirectiveEntry['class']) => itemsByReason(table.filter((entry) => entry.class === kind))
  const foreign = wrapWords(
    foreignPrefixes.map((prefix, index) => `\`${prefix}...\`${index === foreignPrefixes.length - 1 ? '.' : ','}`),
    LINE_WIDTH,
    '',
    '',
  )
  return `# Vhost files: directives without effect, and rejected ones

Generated from the table of directives, which \`svc vhosts directives\` prints. The directives that work are in
[reference.md](reference.md).

## No effect

These are accepted: responses are the same without them. One notice at the start sums them up;
\`svc config check --verbose\` gives the place and the reason of each.

${of('no effect')}

## Rejected

Each of these is an error with file, line and column, and with the text below, because responses or protection would
change without it. Values that ask for no more than svc does anyway are accepted; they are in parentheses.

${of('refused')}

## Other modules

Directives of modules that do not come with nginx are rejected by the beginning of their names:

${foreign.join('\n')}
`
}
