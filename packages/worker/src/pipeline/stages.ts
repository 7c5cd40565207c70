import type { ControlPlane } from '@svc/admin'
import type { Clock } from '@svc/core'
import type { RevocationList } from '../access/revocation-list.ts'
import type { WorkerPlugins } from '../plugins/worker-plugins.ts'
import type { RateLimiter } from '../rate-limit/rate-limiter.ts'
import type { Renderer } from '../render-client/renderer.ts'
import type { Stage } from '../request/request-context.ts'
import type { RuleTables } from '../route-rules/rule-tables.ts'
import type { VhostRuntimes } from '../vhost/index.ts'
import { AppStage, type IsrOf } from './stages/app-stage.ts'
import { BuiltinStage, ProofStage } from './stages/builtin-stage.ts'
import { LimiterStage } from './stages/limiter-stage.ts'
import { PanelHostStage } from './stages/panel-host-stage.ts'
import { PluginStage } from './stages/plugin-stage.ts'
import { RouteRulesStage } from './stages/route-rules-stage.ts'
import { LocationStage, MaintenanceStage, SecureStage, VhostStage } from './stages/vhost-stage.ts'
import { type WafParts, WafStage } from './stages/waf-stage.ts'

/** Dependencies of the stages. */
interface StageParts {
  readonly plane: ControlPlane
  readonly revocations: RevocationList
  readonly renderer: Renderer
  readonly isr: IsrOf
  readonly vhosts: VhostRuntimes
  readonly rules: RuleTables
  readonly limiter: RateLimiter
  readonly waf: WafParts
  readonly plugins: WorkerPlugins
  /** Responses to challenges of certificate authorities, by token; may change. */
  readonly proofs: ReadonlyMap<string, string>
  readonly clock: Pick<Clock, 'after'>
  /** Resolves when every write to a site's files before the call has taken effect. */
  readonly settleSite: (site: string) => Promise<void>
}

/** The stages of every request, in their order. */
export function createStages({
  plane,
  revocations,
  renderer,
  isr,
  vhosts,
  rules,
  limiter,
  waf,
  plugins,
  proofs,
  clock,
  settleSite,
}: StageParts): Stage[] {
  const app = new AppStage(renderer, isr, settleSite)
  const locations = new LocationStage(vhosts, app)
  return [
    new LimiterStage(limiter, true),
    new ProofStage(proofs),
    new BuiltinStage({ plane, revocations, vhosts, rules, clock }),
    new LimiterStage(limiter, false),
    new WafStage(waf),
    new SecureStage(),
    new PanelHostStage(),
    new PluginStage(plugins),
    new VhostStage(locations),
    new MaintenanceStage(),
    new RouteRulesStage(rules),
    locations,
    app,
  ]
}
