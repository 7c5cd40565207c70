import { wrapWords } from '@svc/core'
import { NGINX_DIRECTIVES } from '../variables/nginx-names.ts'
import { directiveNames } from './all-rules.ts'
import { REJECTED_DIRECTIVES } from './refused.ts'

const LINE_WIDTH = 117
const { withoutEffect, withReplacement, outsideOfHttp } = REJECTED_DIRECTIVES

function nameWords(names: readonly string[], end: string): string[] {
  return names.toSorted().map((name, index) => `\`${name}\`${index === names.length - 1 ? end : ','}`)
}

/** One item for each reason, with all directives that have it. */
function itemsByReason(reasons: Readonly<Record<string, string>>): string[] {
  const rejected = Object.entries(reasons).filter(([name]) => !directiveNames.includes(name))
  const groups = [...Map.groupBy(rejected, ([, reason]) => reason)]
  const items = groups.map(([reason, entries]) => {
    const names = entries.map(([name]) => name)
    return { first: names.toSorted()[0] ?? '', words: [...nameWords(names, ':'), ...reason.split(' ')] }
  })
  const sorted = items.toSorted((left, right) => (left.first < right.first ? -1 : 1))
  return sorted.flatMap(({ words }) => wrapWords([...words.slice(0, -1), `${words.at(-1)}.`], LINE_WIDTH, '-', ' '))
}

function otherNames(): string[] {
  const known = new Set([...directiveNames, ...outsideOfHttp, ...Object.keys(withoutEffect), ...Object.keys(withReplacement)])
  return [...NGINX_DIRECTIVES].filter((name) => !known.has(name))
}

/** The page of all directives of nginx that are errors here, in Markdown. */
export function rejectedDirectivesPage(): string {
  return `# Vhost files: directives that svc rejects

Generated from the parser's tables. Each of these directives is an error with file, line and column, and with the text
below. The directives that svc reads are in [reference.md](reference.md).

## Delete these: no response changes

${itemsByReason(withoutEffect).join('\n')}

## Replace these

Without them, responses or protection would change.

${itemsByReason(withReplacement).join('\n')}

## A whole nginx.conf

These stand outside of \`http {}\`. In \`server.vhosts\`, name the files that nginx includes inside \`http {}\`, not
\`nginx.conf\` itself.

${wrapWords(nameWords([...outsideOfHttp], '.'), LINE_WIDTH, '', '').join('\n')}

## Without a replacement

The other directives of nginx. svc knows their names and reports them as not available.

${wrapWords(nameWords(otherNames(), '.'), LINE_WIDTH, '', '').join('\n')}
`
}
