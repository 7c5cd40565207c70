import { useEffect } from 'preact/hooks'
import { ActionButton } from '../components/action-button.tsx'
import type { Action } from '../components/action-dialog.tsx'
import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Quantity } from '../components/quantity.tsx'
import { Status, toneOf } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import type { SiteDetails, SiteRelease } from '../data/answers.ts'
import type { ListPage } from '../data/page-loader.ts'
import { useServices } from '../data/services.ts'
import { type More, usePages } from '../data/use-pages.ts'
import { quantity } from '../format/quantity.ts'

type Route = NonNullable<SiteDetails['routes']>[number]
type Isolate = SiteDetails['isolates'][number]

/** Faults of the files of a site. */
export function Problems({ site: { id, problems, is_partial: isPartial } }: { readonly site: SiteDetails }) {
  if (problems.length === 0) return null
  return (
    <div class="failure" role="alert">
      <p>
        <strong>The files of the site have problems:</strong>
      </p>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
      {isPartial && (
        <p>
          These may be the first ones alone: <code>svc routes {id}</code> lists all.
        </p>
      )}
    </div>
  )
}

/** The declared storage of the responses of a route, in words. */
function cacheText({ cache, kind }: Route): string {
  switch (cache?.mode) {
    case 'never':
      return 'never'
    case 'until_purged':
      return 'until purged'
    case 'timed':
      return `for ${quantity(cache.secs, 'secs').text}`
    case undefined:
      return kind === 'metadata' ? 'as its file' : 'as its data allow'
  }
}

const routeColumns: readonly Column<Route>[] = [
  { name: 'pattern', title: 'Path', sortBy: ({ pattern }) => pattern, cell: ({ pattern }) => <code>{pattern}</code> },
  { name: 'kind', title: 'Kind', sortBy: ({ kind }) => kind, cell: ({ kind }) => kind },
  { name: 'cache', title: 'Stored', sortBy: cacheText, cell: cacheText },
  { name: 'file', title: 'File', cell: ({ file }) => <code title={file}>{file}</code>, isMinor: true },
]

interface RoutePage extends ListPage {
  readonly routes: readonly Route[]
}

/** The routes of a site: those that came with it, or all of them page by page. */
export function Routes({ site: { id, routes, is_partial: isPartial } }: { readonly site: SiteDetails }) {
  if (routes === null || !isPartial) return <RouteTable rows={routes ?? []} more={undefined} />
  return <AllRoutes id={id} />
}

function AllRoutes({ id }: { readonly id: string }) {
  const pages = usePages(`/admin/api/sites/${encodeURIComponent(id)}/routes`, ({ routes }: RoutePage) => routes)
  return (
    <Loaded resource={pages} doing={`load the routes of ${id}`}>
      {({ rows }) => <RouteTable rows={rows} more={pages.more} />}
    </Loaded>
  )
}

function RouteTable({ rows, more }: { readonly rows: readonly Route[]; readonly more: More | undefined }) {
  return (
    <Table
      label="Routes"
      columns={routeColumns}
      rows={rows}
      more={more}
      keyOf={({ pattern, kind, file }) => `${kind} ${pattern} ${file}`}
      empty={
        <Empty title="The site has no routes.">
          A file <code>app/page.tsx</code> or <code>app/route.ts</code> makes one; static files need none.
        </Empty>
      }
    />
  )
}

const isolateColumns: readonly Column<Isolate>[] = [
  { name: 'host', title: 'Render host', sortBy: ({ host }) => host, cell: ({ host }) => host },
  { name: 'thread', title: 'Thread', isFigure: true, sortBy: ({ thread }) => thread, cell: ({ thread }) => thread },
  { name: 'state', title: 'State', cell: ({ state }) => <Status tone={toneOf(state)}>{state}</Status> },
  {
    name: 'requests',
    title: 'Requests',
    isFigure: true,
    sortBy: ({ requests }) => requests,
    cell: ({ requests }) => <Quantity value={requests} unit="count" />,
  },
  {
    name: 'heap',
    title: 'Heap',
    isFigure: true,
    sortBy: ({ heap_bytes: heap }) => heap ?? 0,
    cell: ({ heap_bytes: heap }) => <Quantity value={heap} unit="bytes" />,
  },
  {
    name: 'build',
    title: 'Last build',
    isFigure: true,
    isMinor: true,
    cell: ({ last_build_ms: build }) => <Quantity value={build} unit="ms" />,
  },
  { name: 'started', title: 'Started', isMinor: true, cell: ({ started_at: at }) => <Time at={at} /> },
]

export function Isolates({ site: { isolates } }: { readonly site: SiteDetails }) {
  return (
    <Table
      label="Isolates"
      columns={isolateColumns}
      rows={isolates}
      keyOf={({ host, thread }) => `${host} ${thread}`}
      empty={<Empty title="The site has no isolate.">The first request to a page starts one.</Empty>}
    />
  )
}

interface ReleasePage extends ListPage {
  readonly releases: readonly SiteRelease[]
}

interface ReleasesProps {
  readonly site: SiteDetails
  /** Number of operations on the site since the page was opened: each may have made a release. */
  readonly operations: number
  readonly onDone: () => void
}

/** The releases of a site, each with the way back to it. */
export function Releases({ site: { id, hostnames }, operations, onDone }: ReleasesProps) {
  const { api } = useServices()
  const releases = usePages('/admin/api/deploys', ({ releases: rows }: ReleasePage) => rows, { query: { site: id } })
  useEffect(() => {
    if (operations > 0) releases.reload()
  }, [operations])
  const rollback = (release: string, isOlder: boolean): Action => ({
    label: isOlder ? 'Roll back' : 'Serve again',
    isDestructive: true,
    effect: `Serves the release ${release} of ${id} on ${hostnames.join(', ') || 'its hosts'} in place of the live one, on all workers.`,
    run: async (progress) => {
      progress('The release is prepared and warmed.')
      await api.send('POST', '/admin/api/deploys/rollback', { site: id, release })
      return `${id} serves the release ${release}.`
    },
  })
  const done = () => {
    releases.reload()
    onDone()
  }
  const liveSince = releases.data?.rows.find(({ live }) => live)?.created_at ?? ''
  const columns: readonly Column<SiteRelease>[] = [
    { name: 'id', title: 'Release', cell: (release) => <code title={release.source}>{release.id}</code> },
    { name: 'created', title: 'Created', sortBy: ({ created_at: at }) => at, cell: ({ created_at: at }) => <Time at={at} /> },
    {
      name: 'state',
      title: 'State',
      cell: ({ state, live }) => <Status tone={live ? 'good' : toneOf(state)}>{live ? 'live' : state}</Status>,
    },
    {
      name: 'action',
      title: 'Action',
      isAction: true,
      cell: ({ id: release, live, state, created_at: at }) =>
        live || state === 'failed' ? null : (
          <ActionButton needs="tenant_admin" action={rollback(release, at < liveSince)} onDone={done} />
        ),
    },
  ]
  return (
    <Loaded resource={releases} doing={`load the releases of ${id}`}>
      {({ rows }) => (
        <Table
          label="Releases"
          columns={columns}
          rows={rows}
          more={releases.more}
          keyOf={(release) => release.id}
          empty={
            <Empty title="The site was never deployed.">
              It serves its directory. <code>svc deploy {id} SOURCE</code> makes a release.
            </Empty>
          }
        />
      )}
    </Loaded>
  )
}
