import { useState } from 'preact/hooks'
import { useParameter } from '../address/router.ts'
import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { Empty } from '../components/empty.tsx'
import { ChoiceFilter, Filters, TextFilter } from '../components/filters.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Pager } from '../components/pager.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Section } from '../components/section.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import type { Api, Query } from '../data/api.ts'
import { useMayChange, useServices } from '../data/services.ts'
import { useResource } from '../data/use-resource.ts'
import { counted } from '../format/quantity.ts'
import { type PurgeAnswer, purgeResult } from '../panels/site-actions.tsx'

const PAGE = 100
/** The most entries that one request counts for a preview. */
const COUNTED = 500

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

/** Drops the pages with a tag, or those of a pattern of tags; first it counts them. */
function purgeTag(api: Api, tag: string): Action {
  return {
    label: `Purge tag`,
    isDestructive: true,
    effect: async () => {
      const { entries, cursor } = await api.get<Listing>('/admin/api/cache/entries', { tag, limit: COUNTED })
      const more = cursor === null ? '' : ' or more'
      return `Drops ${counted(entries.length, 'page')}${more} with the tag ${tag}, and what other layers made of them. Each is rendered again at its next request.`
    },
    run: async () => purgeResult(await api.send<PurgeAnswer>('POST', '/admin/api/cache/purge', undefined, { tag }), 'page'),
  }
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
  return (
    <>
      {entry !== '' && <OneEntry id={entry} close={() => open('')} />}
      <Section
        title="Entries"
        tools={
          <>
            <Filters label="Entries">
              <ChoiceFilter name="layer" label="Layer" choices={layers} />
              <TextFilter name="site" label="Id of a site" isWhole />
              <TextFilter name="tag" label="Tag" isWhole />
              <TextFilter name="prefix" label="Beginning of the path" isWhole />
            </Filters>
            {tag !== '' && <ActionButton key={tag} needs="tenant_admin" action={purgeTag(api, tag)} />}
          </>
        }
      >
        <Entries key={JSON.stringify(selection)} query={selection} open={open} />
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
              <Empty title="No entry fits.">Responses are stored at their first request, and in L0 at their second one.</Empty>
            }
          />
          <Pager cursors={cursors} next={cursor} onCursors={setCursors} />
        </>
      )}
    </Loaded>
  )
}

function OneEntry({ id, close }: { readonly id: string; readonly close: () => void }) {
  const { api } = useServices()
  const mayRead = useMayChange('tenant_admin')
  const path = `/admin/api/cache/entries/${encodeURIComponent(id)}`
  const entry = useResource<Entry & { readonly body?: { readonly data: string; readonly encoding: string } }>(path, {
    query: { body: mayRead ? '1' : undefined },
  })
  return (
    <Section
      title="Entry"
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
            <dl class="facts">
              <div>
                <dt>Stored</dt>
                <dd>
                  <Time at={facts.stored_at} />
                </dd>
              </div>
              <div>
                <dt>Fresh until</dt>
                <dd>{facts.fresh_until === null ? 'always' : <Time at={facts.fresh_until} />}</dd>
              </div>
              <div>
                <dt>Size</dt>
                <dd>
                  <Quantity value={facts.bytes} unit="bytes" />
                </dd>
              </div>
              <div>
                <dt>Hits</dt>
                <dd>
                  <Quantity value={facts.hits} unit="count" />
                </dd>
              </div>
            </dl>
            <CodeBlock label="Entry as JSON" text={JSON.stringify(facts, null, 2)} />
            {body !== undefined && <CodeBlock label={`Body (${body.encoding})`} text={body.data} />}
          </>
        )}
      </Loaded>
    </Section>
  )
}
