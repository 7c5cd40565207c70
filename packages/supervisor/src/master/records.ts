import type { CloseStack } from '@svc/core'
import { Silences } from '../alerts/silences.ts'
import { Analytics } from '../analytics/analytics.ts'
import { AuditLog } from '../audit/audit-log.ts'
import { ConfigChecks } from '../config-check/config-checks.ts'
import type { GenerationAccess, MasterDeps } from './parts.ts'

/** Dependencies of the records of an instance. */
interface RecordParts {
  readonly deps: MasterDeps
  readonly access: GenerationAccess
  readonly stack: CloseStack
}

/** Checks of configurations that are not in service. */
export function makeConfigChecks({ deps: { options }, stack }: RecordParts): ConfigChecks {
  const checks = new ConfigChecks({ source: options.source, program: options.programs.configCheck })
  stack.push('config checks', () => checks.close())
  return checks
}

/** The audit log, and the silences of alerts. */
export async function openRecords(parts: RecordParts): Promise<{ readonly audit: AuditLog; readonly silences: Silences }> {
  const { clock, logger } = parts.deps
  const { state_dir: stateDir } = parts.access.get().config.server
  return { audit: await openAudit(parts), silences: await Silences.open({ stateDir, clock, logger }) }
}

async function openAudit({ deps, access, stack }: RecordParts): Promise<AuditLog> {
  const { clock, logger } = deps
  const { config } = access.get()
  const areaOf = (name: string) => {
    const user = access.get().config.admin.users.find(({ username }) => username === name)
    return user === undefined || user.role === 'super_admin' ? undefined : `${user.role} ${user.tenant_id ?? ''}`
  }
  const audit = await AuditLog.open({ stateDir: config.server.state_dir, logger, nowMs: clock.now(), areaOf })
  stack.push('audit log', () => audit.close())
  return audit
}

/** The traffic of sites. */
export function startAnalytics({ deps: { clock, logger }, access, stack }: RecordParts): Analytics {
  const analytics = new Analytics({ stateDir: access.get().config.server.state_dir, clock, logger })
  analytics.start()
  stack.push('analytics', () => analytics.close())
  return analytics
}
