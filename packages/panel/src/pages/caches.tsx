import { useState } from 'preact/hooks'
import { useParameter, usePlace, withParameter } from '../address/router.ts'
import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Link } from '../components/link.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Pager } from '../components/pager.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import { sitePath } from '../data/answers.ts'
import type { Api, Query } from '../data/api.ts'
import { useMayChange, useServices } from '../data/services.ts'
import { useResource } from '../data/use-resource.ts'
import { quantity } from '../format/quantity.ts'
import { type PurgeAnswer, purgePath, purgeResult, purgeTag } from '../panels/purge-actions.ts'

const PAGE = 100
/** Bytes of a body that are shown. */
const BODY_BYTES = 16 * 1024

interface Entry {
  readonly key: string
  readonly layer: string
  readonly site: string | null
  readonly host: string | null
  readonly path: string
  readonly query: string | null
  readonly tags: readonly string[]
  readonly status: number
  readonly bytes: number
  readonly stored_at: string
  readonly fresh_until: string | null
  readonly stale_until: string | null
  readonly hits: number
}

interface Listing {
  readonly entries: readonly Entry[]
  readonly cursor: string | null
  readonly missing: readonly string[]
}

const layers = [
  ['isr', 'pages (ISR)'],
  ['proxy', 'upstream responses'],
  ['l0', 'memory of the workers (L0)'],
] as const

const targetOf = ({ path, query }: Entry) => `${path}${query ? `?${query}` : ''}`

function columnsFor(open: (key: string) => void): readonly Column<Entry>[] {
  return [
    {
      name: 'path',
      title: 'Entry',
      sortBy: targetOf,
      cell: (entry) => (
        <button type="button" class="link" title={targetOf(entry)} onClick={() => open(entry.key)}>
          {targetOf(entry)}
        </button>
      ),
    },
    { name: 'site', title: 'Site', sortBy: ({ site, host }) => site ?? host ?? '', cell: ({ site, host }) => site ?? host ?? '' },
    { name: 'status', title: 'Status', isFigure: true, sortBy: ({ status }) => status, cell: ({ status }) => status },
    {
      name: 'bytes',
      title: 'Size',
      isFigure: true,
      sortBy: ({ bytes }) => bytes,
      cell: ({ bytes }) => <Quantity value={bytes} unit="bytes" />,
    },
    {
      name: 'hits',
      title: 'Hits',
      isFigure: true,
      sortBy: ({ hits }) => hits,
      cell: ({ hits }) => <Quantity value={hits} unit="count" />,
    },
    { name: 'stored', title: 'Stored', sortBy: ({ stored_at: at }) => at, cell: ({ stored_at: at }) => <Time at={at} /> },
    {
      name: 'fresh',
      title: 'Fresh until',
      isMinor: true,
      cell: ({ fresh_until: at }) => (at === null ? 'always' : <Time at={at} />),
    },
    { name: 'tags', title: 'Tags', isMinor: true, cell: ({ tags }) => <span title={tags.join('\n')}>{tags.join(', ')}</span> },
  ]
}

function dropEntry(api: Api, entry: Entry): Action {
  return {
    label: 'Drop this entry',
    isDestructive: true,
    effect: `Drops ${targetOf(entry)} of ${entry.site ?? entry.host ?? 'no site'} with all its variants from ${entry.layer}.`,
    run: async () =>
      purgeResult(
        await api.send<PurgeAnswer>('DELETE', `/admin/api/cache/entries/${encodeURIComponent(entry.key)}`),
        'entry',
        'entries',
      ),
  }
}

/** Entries of a layer by site, tag and path. */
export default function Caches() {
  const [layer] = useParameter('layer', 'isr')
  const [site] = useParameter('site')
  const [tag] = useParameter('tag')
  const [prefix] = useParameter('prefix')
  const [entry, open] = useParameter('entry')
  const { api } = useServices()
  const selection = { layer, site, tag, prefix }
  const [purges, setPurges] = useState(0)
  const refresh = () => setPurges(purges + 1)
  return (
    <>
      {entry !== '' && <OneEntry id={entry} close={() => open('')} />}
      <Section
        title="Entries"
        tools={
          <>
            <Filters label="Entries">
              <ChoiceFilter name="layer" label="Layer" choices={layers} />
              <TextFilter name="site" label="Site ID" isWhole />
              <TextFilter name="tag" label="Tag" isWhole />
              <TextFilter name="prefix" label="Path prefix" isWhole />
            </Filters>
            {tag !== '' && <ActionButton key={`tag ${tag}`} needs="tenant_admin" action={purgeTag(api, tag)} onDone={refresh} />}
            {site !== '' && prefix !== '' && (
              <ActionButton
                key={`path ${site} ${prefix}`}
                needs="tenant_admin"
                action={purgePath(api, site, prefix)}
                onDone={refresh}
              />
            )}
          </>
        }
      >
        <Entries key={JSON.stringify([purges, selection])} query={selection} open={open} />
      </Section>
    </>
  )
}

function Entries({ query, open }: { readonly query: Query; readonly open: (key: string) => void }) {
  const [cursors, setCursors] = useState<readonly string[]>([])
  const listing = useResource<Listing>('/admin/api/cache/entries', { query: { ...query, limit: PAGE, cursor: cursors.at(-1) } })
  return (
    <Loaded resource={listing} doing="load the entries" rows={8}>
      {({ entries, cursor, missing }) => (
        <>
          {missing.length > 0 && <p role="status">Not the whole list: {missing.join(', ')} did not answer.</p>}
          <Table
            label="Entries"
            columns={columnsFor(open)}
            rows={entries}
            keyOf={({ key }) => key}
            empty={
              <Empty title="No entry of this layer matches.">
                Responses are stored at their first request, and in L0 at their second one.
                <OtherLayers query={query} />
              </Empty>
            }
          />
          <Pager cursors={cursors} next={cursor} onCursors={setCursors} />
        </>
      )}
    </Loaded>
  )
}

/** Ways to the same selection in the other layers. */
function OtherLayers({ query }: { readonly query: Query }) {
  const place = usePlace()
  const others = layers.filter(([layer]) => layer !== query.layer)
  return (
    <>
      {' '}
      Look in{' '}
      {others.map(([layer, title], index) => (
        <span key={layer}>
          {index > 0 && ', '}
          <Link href={withParameter(place, 'layer', layer)}>{title}</Link>
        </span>
      ))}
      .
    </>
  )
}

interface OneEntryAnswer extends Entry {
  /** All tags, listed or not. */
  readonly tag_count: number
  readonly body?: { readonly data: string; readonly encoding: string; readonly is_cut: boolean }
}

function OneEntry({ id, close }: { readonly id: string; readonly close: () => void }) {
  const { api } = useServices()
  const mayRead = useMayChange('tenant_admin')
  const path = `/admin/api/cache/entries/${encodeURIComponent(id)}`
  const entry = useResource<OneEntryAnswer>(path, {
    query: mayRead ? { body: '1', body_bytes: BODY_BYTES } : {},
  })
  return (
    <Section
      title={entry.data === undefined ? 'Entry' : targetOf(entry.data)}
      tools={
        <>
          {entry.data !== undefined && <ActionButton needs="tenant_admin" action={dropEntry(api, entry.data)} onDone={close} />}
          <button type="button" onClick={close}>
            Close
          </button>
        </>
      }
    >
      <Loaded resource={entry} doing="load the entry">
        {({ body, ...facts }) => (
          <>
            <EntryFacts entry={facts} />
            <CodeBlock label="Entry as JSON" text={JSON.stringify(facts, null, 2)} />
            {body?.is_cut === true && (
              <p class="hint">
                The first {quantity(BODY_BYTES, 'bytes').text} of the body: <code>curl</code> gets the whole response.
              </p>
            )}
            {body !== undefined && <CodeBlock label={`Body (${body.encoding})`} text={body.data} />}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function EntryFacts({ entry }: { readonly entry: Omit<OneEntryAnswer, 'body'> }) {
  const { site, host, status, tags, bytes, hits, stored_at: stored, fresh_until: fresh, stale_until: stale } = entry
  const facts = [
    ['Site', site === null ? (host ?? 'none') : <Link href={sitePath(site)}>{site}</Link>],
    ['Host', host ?? 'all hosts of the site'],
    ['Status', status],
    ['Stored', <Time at={stored} />],
    ['Fresh until', fresh === null ? 'always' : <Time at={fresh} />],
    ['Stale until', stale === null ? 'always' : <Time at={stale} />],
    ['Size', <Quantity value={bytes} unit="bytes" />],
    ['Hits', <Quantity value={hits} unit="count" />],
    ['Tags', `${tags.join(', ') || 'none'}${tags.length < entry.tag_count ? ` and ${entry.tag_count - tags.length} more` : ''}`],
  ] as const
  return (
    <dl class="facts">
      {facts.map(([title, value]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
