import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminToml, bearer } from '../../packages/auth/test/admin-users.ts'
import type { ClusterKind } from './cluster.ts'
import { startSvc, workDir, writeConfig } from './svc.ts'

const place = join(workDir, 'cluster')

const PAGE = `export const revalidate = 3600
export default async function Page() {
  return <p>{Math.random()}</p>
}
`

/** Instances of this server with one worker each, and empty caches. */
export async function svcInstances(): Promise<ClusterKind> {
  rmSync(place, { recursive: true, force: true })
  const root = join(place, 'site')
  mkdirSync(join(root, 'app/[id]'), { recursive: true })
  writeFileSync(join(root, 'app/[id]/page.tsx'), PAGE)
  const headers = await bearer('root')
  return {
    name: 'svc',
    host: 'numbers.localhost',
    commands: /^eval/,
    start: (instance, socket) => {
      const shared = `[cache.isr]\nl2_enabled = true\n\n[redis]\nurl = "unix://${socket}"\n\n${adminToml}`
      return startSvc(writeConfig(`cluster/${instance}`, [{ id: 'numbers', root }], shared), 2)
    },
    purge: (path) => ({
      target: `/__svc/admin/api/cache/purge?tag=${encodeURIComponent(`route:numbers:${path}`)}`,
      headers,
    }),
  }
}
