import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Api } from './api.ts'
import type { LiveStream } from './live-stream.ts'
import type { PageCode } from './page-code.ts'
import type { Role, Session, User } from './session.ts'
import type { Store } from './store.ts'
import type { SummaryReport } from './summary.ts'

/** Objects that live as long as the page. */
interface Services {
  readonly session: Session
  readonly api: Api
  /** The state of the server, live; shared by all pages. */
  readonly summary: LiveStream<SummaryReport>
  /** The code of pages, as far as it is loaded. */
  readonly code: PageCode
  /** The last message for screen readers. */
  readonly announcement: Store<string>
}

export const ServicesContext = createContext<Services | undefined>(undefined)

export function useServices(): Services {
  const services = useContext(ServicesContext)
  if (services === undefined) throw new TypeError('a component is drawn outside of the panel')
  return services
}

const visitor: User = { username: '', role: 'viewer', tenant_id: null }

/** The user of the session. */
export function useUser(): User {
  return useServices().session.user ?? visitor
}

const ranks: readonly Role[] = ['viewer', 'tenant_admin', 'super_admin']

/** True if the user has at least this role. */
export function useMayChange(role: Role): boolean {
  return ranks.indexOf(useUser().role) >= ranks.indexOf(role)
}
