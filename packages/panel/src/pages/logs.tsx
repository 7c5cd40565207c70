import { useRef } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import { CodeBlock } from '../components/code-block.tsx'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import { StreamStatus } from '../components/stream-status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import type { ListPage } from '../data/page-loader.ts'
import { usePages } from '../data/use-pages.ts'
import { useReloadAfterGap, useStream } from '../data/use-stream.ts'
import { counted } from '../format/quantity.ts'
import { factsOf, Level, type Line } from '../panels/log-lines.tsx'

/** Lines that came while the page is open. */
const KEPT = 1_000
/** Lines of a page of the list. */
const LISTED = 150

const levels = [
  ['', 'all'],
  ['info', 'info and above'],
  ['warn', 'warnings and errors'],
  ['error', 'errors'],
] as const

const following = [
  ['yes', 'on'],
  ['no', 'paused'],
] as const

interface LinePage extends ListPage {
  /** The oldest first. */
  readonly lines: readonly Line[]
  readonly dropped: number
}

interface NumberedLine {
  readonly line: Line
  readonly text: string
}

/** Lines with their texts. The text of a line is made once: the page is drawn often. */
function useTexts(): (lines: readonly Line[]) => readonly NumberedLine[] {
  const texts = useRef(new WeakMap<Line, NumberedLine>())
  return (lines) =>
    lines.map((line) => {
      const known = texts.current.get(line) ?? { line, text: JSON.stringify(line) }
      texts.current.set(line, known)
      return known
    })
}

/** New ones before those that were listed, each once. */
function newestFirst(live: readonly NumberedLine[], listed: readonly NumberedLine[]): readonly NumberedLine[] {
  const lines = new Map<string, NumberedLine>()
  for (const one of [...live, ...listed]) if (!lines.has(one.text)) lines.set(one.text, one)
  return [...lines.values()].sort(({ line: { time: one = '' } }, { line: { time: other = '' } }) =>
    one < other ? 1 : one > other ? -1 : 0,
  )
}

function columnsFor(open: (text: string) => void): readonly Column<NumberedLine>[] {
  return [
    { name: 'time', title: 'Time', cell: ({ line }) => <Time at={line.time ?? null} /> },
    {
      name: 'level',
      title: 'Level',
      cell: ({ line }) => <Level level={line.level} />,
    },
    {
      name: 'msg',
      title: 'Message',
      cell: ({ line, text }) => (
        <>
          <button type="button" class="link line" title={text.slice(0, 2_000)} onClick={() => open(text)}>
            {line.msg ?? text}
          </button>{' '}
          <small>{factsOf(line)}</small>
        </>
      ),
      isWide: true,
    },
    { name: 'site', title: 'Site', cell: ({ line }) => line.site ?? '', isMinor: true },
    { name: 'proc', title: 'Process', cell: ({ line }) => line.proc ?? '', isMinor: true },
  ]
}

/** The logs of all processes, live. */
export default function Logs() {
  const [level] = useParameter('level')
  const [site] = useParameter('site')
  const [q] = useParameter('q')
  const [follow] = useParameter('follow', 'yes')
  const [line, open] = useParameter('line')
  const query = { level, site, q }
  const listed = usePages('/obs/logs', ({ lines }: LinePage) => lines.toReversed(), { query: { ...query, limit: LISTED } })
  const numbered = useTexts()
  const isWanted = follow === 'yes'
  const { state, messages, missed } = useStream<Line>('/obs/logs/stream', { query, keep: KEPT, isWanted })
  useReloadAfterGap(state, listed.reload)
  return (
    <>
      {line !== '' && (
        <Section
          title="Line"
          tools={
            <button type="button" onClick={() => open('')}>
              Close
            </button>
          }
        >
          <CodeBlock label="Line as JSON" text={line} />
        </Section>
      )}
      <Section
        title="Lines"
        tools={
          <Filters label="Logs">
            <ChoiceFilter name="level" label="Level" choices={levels} />
            <TextFilter name="site" label="Site ID" isWhole />
            <TextFilter name="q" label="Text or request ID" isWhole />
            <ChoiceFilter name="follow" label="Live updates" choices={following} />
          </Filters>
        }
      >
        <p role="status">
          {isWanted ? <StreamStatus state={state} /> : 'Paused'}
          {missed > 0 && ` ${counted(missed, 'line')} left out: they came too fast.`}
        </p>
        <Loaded resource={listed} doing="load the lines" rows={8}>
          {({ first: { dropped }, rows }) => (
            <>
              {dropped > 0 && <p>{counted(dropped, 'line')} dropped by processes that logged too much.</p>}
              <Table
                label="Log lines"
                columns={columnsFor(open)}
                rows={newestFirst(numbered(messages), numbered(rows))}
                more={listed.more}
                keyOf={({ text }) => text}
                empty={<Empty title="No line matches.">The newest lines of all processes appear here as they are written.</Empty>}
              />
            </>
          )}
        </Loaded>
      </Section>
    </>
  )
}
