import { ActionButton } from '../components/action-button.tsx'
import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import { Status } from '../components/status.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import type { Api } from '../data/api.ts'
import type { ListPage } from '../data/page-loader.ts'
import { useServices } from '../data/services.ts'
import { usePages } from '../data/use-pages.ts'

const EVERY_MS = 30_000

interface Certificate {
  readonly names: readonly string[]
  readonly source: 'file' | 'acme' | 'self_signed'
  readonly state: string
  readonly issuer: string | null
  readonly not_before: string | null
  readonly not_after: string | null
  readonly file: string | null
  readonly reason: string | null
}

interface CertificatePage extends ListPage {
  readonly certs: readonly Certificate[]
}

const sources = { file: 'own file', acme: 'ACME', self_signed: 'self-signed' } as const
/** Renewal of a certificate that the server does not order. */
const renewals = { file: 'manual', acme: 'automatic', self_signed: 'none' } as const
const tones = { valid: 'good', pending: 'warning' } as const

function columnsFor(api: Api, reload: () => void): readonly Column<Certificate>[] {
  return [
    { name: 'names', title: 'Names', sortBy: ({ names }) => names[0] ?? '', cell: ({ names }) => names.join(', ') },
    {
      name: 'state',
      title: 'State',
      sortBy: ({ state }) => state,
      cell: ({ state, reason }) => (
        <>
          <Status tone={tones[state as keyof typeof tones] ?? 'bad'}>{state.replaceAll('_', ' ')}</Status> {reason}
        </>
      ),
    },
    {
      name: 'ends',
      title: 'Expires',
      sortBy: ({ not_after: end }) => end ?? '',
      cell: ({ not_after: end }) => (end === null ? 'no certificate' : <Time at={end} />),
    },
    { name: 'source', title: 'Source', sortBy: ({ source }) => source, cell: ({ source }) => sources[source] ?? source },
    { name: 'issuer', title: 'Issuer', cell: ({ issuer }) => issuer ?? '', isMinor: true },
    { name: 'file', title: 'File', cell: ({ file }) => <code title={file ?? ''}>{file ?? ''}</code>, isMinor: true },
    {
      name: 'renew',
      title: 'Renewal',
      isAction: true,
      cell: ({ names: [host], source }) =>
        source !== 'acme' || host === undefined ? (
          renewals[source]
        ) : (
          <ActionButton
            needs="super_admin"
            onDone={reload}
            action={{
              label: 'Renew',
              effect: `Orders a new certificate for ${host} now. The current one stays in use until then.`,
              run: async () => {
                await api.send('POST', '/admin/api/certs/renew', undefined, { host })
                return `A certificate for ${host} was ordered. It appears here in a minute, or the reason of its failure.`
              },
            }}
          />
        ),
    },
  ]
}

/** Certificates in service, and hosts that wait for one. */
export default function Certificates() {
  const { api } = useServices()
  const certs = usePages('/admin/api/certs', ({ certs: rows }: CertificatePage) => rows, { everyMs: EVERY_MS })
  return (
    <Section title="All certificates">
      <Loaded resource={certs} doing="load the certificates">
        {({ rows }) => (
          <Table
            label="Certificates"
            columns={columnsFor(api, certs.reload)}
            rows={rows}
            more={certs.more}
            keyOf={({ names, file }) => `${names.join()} ${file}`}
            empty={
              <Empty title="No certificate is in use.">
                <code>server.listen_tls</code> with <code>tls.auto</code> or <code>[[tls.certs]]</code> of the configuration adds
                some.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  )
}
