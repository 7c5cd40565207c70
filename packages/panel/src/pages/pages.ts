import type { PageLoad } from '../data/page-code.ts'
import type { Role } from '../data/session.ts'

/** A page of the panel. */
export interface PanelPage {
  /** `/__svc/admin/NAME`; its state is in the query. */
  readonly path: string
  readonly title: string
  /** Its place in the navigation; undefined: other pages lead to it. */
  readonly group?: 'Now' | 'Serve' | 'Observe' | 'Protect' | 'Operate'
  /** The page above it, for the way back. */
  readonly parent?: string
  /** The lowest role that may read its data. @default "viewer" */
  readonly role?: Role
  /** False: a tenant_admin may not read its data. @default true */
  readonly isForTenants?: boolean
  /** `wall`: without navigation and actions. @default "panel" */
  readonly frame?: 'wall'
  readonly load: PageLoad
}

/** All pages, in the order of the navigation. A new page is a file and a row here. */
export const pages: readonly PanelPage[] = [
  { path: '/__svc/admin', title: 'Overview', group: 'Now', load: () => import('./overview.tsx') },
  { path: '/__svc/obs/dashboard', title: 'Dashboard', group: 'Now', frame: 'wall', load: () => import('./dashboard.tsx') },
  { path: '/__svc/admin/sites', title: 'Sites', group: 'Serve', load: () => import('./sites.tsx') },
  { path: '/__svc/admin/site', title: 'Site', parent: '/__svc/admin/sites', load: () => import('./site.tsx') },
  { path: '/__svc/admin/caches', title: 'Caches', group: 'Serve', load: () => import('./caches.tsx') },
  {
    path: '/__svc/admin/upstreams',
    title: 'Upstreams',
    group: 'Serve',
    role: 'super_admin',
    isForTenants: false,
    load: () => import('./upstreams.tsx'),
  },
  {
    path: '/__svc/admin/certificates',
    title: 'Certificates',
    group: 'Serve',
    role: 'super_admin',
    isForTenants: false,
    load: () => import('./certificates.tsx'),
  },
  { path: '/__svc/admin/traffic', title: 'Traffic', group: 'Observe', load: () => import('./traffic.tsx') },
  { path: '/__svc/admin/flows', title: 'Flows', group: 'Observe', load: () => import('./flows.tsx') },
  { path: '/__svc/admin/logs', title: 'Logs', group: 'Observe', load: () => import('./logs.tsx') },
  { path: '/__svc/admin/alerts', title: 'SLOs and alerts', group: 'Observe', load: () => import('./alerts.tsx') },
  { path: '/__svc/admin/waf', title: 'WAF', group: 'Protect', load: () => import('./waf.tsx') },
  {
    path: '/__svc/admin/rate-limits',
    title: 'Rate limits',
    group: 'Protect',
    role: 'super_admin',
    isForTenants: false,
    load: () => import('./rate-limits.tsx'),
  },
  {
    path: '/__svc/admin/users',
    title: 'Users and sessions',
    group: 'Protect',
    role: 'super_admin',
    isForTenants: false,
    load: () => import('./users.tsx'),
  },
  {
    path: '/__svc/admin/audit',
    title: 'Audit',
    group: 'Protect',
    role: 'super_admin',
    isForTenants: false,
    load: () => import('./audit.tsx'),
  },
  {
    path: '/__svc/admin/workers',
    title: 'Workers and hosts',
    group: 'Operate',
    isForTenants: false,
    load: () => import('./workers.tsx'),
  },
  { path: '/__svc/admin/tasks', title: 'Tasks', group: 'Operate', isForTenants: false, load: () => import('./tasks.tsx') },
  {
    path: '/__svc/admin/plugins',
    title: 'Plugins',
    group: 'Operate',
    role: 'super_admin',
    isForTenants: false,
    load: () => import('./plugins.tsx'),
  },
  {
    path: '/__svc/admin/configuration',
    title: 'Configuration',
    group: 'Operate',
    role: 'super_admin',
    isForTenants: false,
    load: () => import('./configuration.tsx'),
  },
]
