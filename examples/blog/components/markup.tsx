import type { ReactNode } from 'react'
import Link from 'svc/link'

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(([^)]+)\)/g

/** Turns `code`, **strong**, *emphasis* and [links](/url) of one line into elements. */
function inline(text: string): ReactNode[] {
  const parts: ReactNode[] = []
  let end = 0
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, emphasis, label, href] = match
    parts.push(text.slice(end, match.index))
    end = match.index + whole.length
    const key = match.index
    if (code !== undefined) parts.push(<code key={key}>{code}</code>)
    else if (strong !== undefined) parts.push(<strong key={key}>{strong}</strong>)
    else if (emphasis !== undefined) parts.push(<em key={key}>{emphasis}</em>)
    else {
      parts.push(
        <Link key={key} href={href ?? '/'}>
          {label}
        </Link>,
      )
    }
  }
  parts.push(text.slice(end))
  return parts
}

/** Reads lines up to the first that does not fit; the lines that were read are taken off the list. */
function takeWhile(lines: string[], fits: (line: string) => boolean): string[] {
  const end = lines.findIndex((line) => !fits(line))
  return lines.splice(0, end === -1 ? lines.length : end)
}

/** The body of a post: "## heading", "> quote", "- item", code between "```" lines, and paragraphs. */
export function Markup({ lines }: { lines: readonly string[] }) {
  const rest = [...lines]
  const blocks: ReactNode[] = []
  while (rest.length > 0) {
    const key = blocks.length
    const line = rest[0] ?? ''
    if (line.startsWith('- ')) {
      const items = takeWhile(rest, (item) => item.startsWith('- '))
      blocks.push(
        <ul key={key}>
          {items.map((item) => (
            <li key={item}>{inline(item.slice(2))}</li>
          ))}
        </ul>,
      )
      continue
    }
    rest.shift()
    if (line === '```') {
      const code = takeWhile(rest, (item) => item !== '```').join('\n')
      rest.shift()
      blocks.push(
        <pre key={key}>
          <code>{code}</code>
        </pre>,
      )
    } else if (line.startsWith('## ')) blocks.push(<h2 key={key}>{inline(line.slice(3))}</h2>)
    else if (line.startsWith('> ')) {
      blocks.push(
        <blockquote key={key}>
          <p>{inline(line.slice(2))}</p>
        </blockquote>,
      )
    } else blocks.push(<p key={key}>{inline(line)}</p>)
  }
  return <>{blocks}</>
}
