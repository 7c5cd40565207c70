import { ActionButton } from '../components/action-button.tsx'
import { Empty } from '../components/empty.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Section } from '../components/section.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Time } from '../components/time.tsx'
import type { Api } from '../data/api.ts'
import type { ListPage } from '../data/page-loader.ts'
import { useServices } from '../data/services.ts'
import type { User } from '../data/session.ts'
import { usePages } from '../data/use-pages.ts'

const EVERY_MS = 15_000

/** A session of the panel, or a token of a program. */
interface Login {
  readonly jti: string
  readonly kind: 'session' | 'token'
  readonly username: string
  readonly role: string
  readonly issued_at: string
  readonly expires_at: string
  readonly address: string
  readonly user_agent: string
}

interface LoginPage extends ListPage {
  readonly sessions: readonly Login[]
}

interface UserPage extends ListPage {
  readonly users: readonly User[]
}

const userColumns: readonly Column<User>[] = [
  { name: 'user', title: 'User', sortBy: ({ username }) => username, cell: ({ username }) => username },
  { name: 'role', title: 'Role', sortBy: ({ role }) => role, cell: ({ role }) => role },
  { name: 'tenant', title: 'Tenant', sortBy: ({ tenant_id: id }) => id ?? '', cell: ({ tenant_id: id }) => id ?? 'all' },
]

function columnsFor(api: Api, reload: () => void): readonly Column<Login>[] {
  return [
    { name: 'user', title: 'User', sortBy: ({ username }) => username, cell: ({ username }) => username },
    { name: 'kind', title: 'Kind', sortBy: ({ kind }) => kind, cell: ({ kind }) => kind },
    { name: 'issued', title: 'Issued', sortBy: ({ issued_at: at }) => at, cell: ({ issued_at: at }) => <Time at={at} /> },
    { name: 'ends', title: 'Expires', sortBy: ({ expires_at: at }) => at, cell: ({ expires_at: at }) => <Time at={at} /> },
    { name: 'address', title: 'Address', cell: ({ address }) => address, isMinor: true },
    { name: 'agent', title: 'User agent', cell: ({ user_agent: agent }) => <span title={agent}>{agent}</span>, isMinor: true },
    {
      name: 'end',
      title: 'Action',
      isAction: true,
      cell: ({ jti, kind, username }) => (
        <ActionButton
          needs="super_admin"
          onDone={reload}
          action={{
            label: kind === 'session' ? 'End session' : 'Revoke token',
            isDestructive: true,
            effect: `Ends this ${kind} of ${username} on every worker, for good.`,
            run: async () => {
              await api.send('DELETE', `/admin/api/${kind}s/${encodeURIComponent(jti)}`)
              return `The ${kind} of ${username} has ended.`
            },
          }}
        />
      ),
    },
  ]
}

/** Users of the configuration, their sessions and tokens. */
export default function Users() {
  const { api } = useServices()
  const users = usePages('/admin/api/users', ({ users: rows }: UserPage) => rows)
  const sessions = usePages('/admin/api/sessions', ({ sessions: rows }: LoginPage) => rows, { everyMs: EVERY_MS })
  return (
    <>
      <Section title="Sessions and tokens">
        <Loaded resource={sessions} doing="load the sessions">
          {({ rows }) => (
            <Table
              label="Sessions and tokens"
              columns={columnsFor(api, sessions.reload)}
              rows={rows}
              more={sessions.more}
              keyOf={({ jti }) => jti}
              empty={<Empty title="No user is logged in.">Sessions of the panel and tokens of programs appear here.</Empty>}
            />
          )}
        </Loaded>
      </Section>
      <Section title="Users">
        <Loaded resource={users} doing="load the users">
          {({ rows }) => (
            <Table
              label="Users"
              columns={userColumns}
              rows={rows}
              more={users.more}
              keyOf={({ username }) => username}
              empty={
                <Empty title="There are no users.">
                  <code>svc config credentials create</code> makes one.
                </Empty>
              }
              sortName="users"
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}
