import type { ControlPlane } from '@svc/admin'
import type { Renderer } from '../render-client/renderer.ts'
import type { VhostRuntimes } from '../vhost/index.ts'
import type { Stage } from './stage.ts'
import { AppStage, type IsrOf } from './stages/app-stage.ts'
import { BuiltinStage } from './stages/builtin-stage.ts'
import { LocationStage } from './stages/location-stage.ts'
import { SecureStage } from './stages/secure-stage.ts'
import { VhostStage } from './stages/vhost-stage.ts'

/** What stages work with. */
export interface StageParts {
  readonly plane: ControlPlane
  readonly renderer: Renderer
  readonly isr: IsrOf
  readonly vhosts: VhostRuntimes
}

/** The stages of every request, in their order. */
export function createStages({ plane, renderer, isr, vhosts }: StageParts): Stage[] {
  const app = new AppStage(renderer, isr)
  return [new BuiltinStage(plane, vhosts), new SecureStage(), new VhostStage(), new LocationStage(vhosts, app), app]
}
