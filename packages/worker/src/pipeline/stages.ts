import type { ControlPlane } from '@svc/admin'
import type { Renderer } from '../render-client/renderer.ts'
import type { Stage } from './stage.ts'
import { AppStage, type IsrOf } from './stages/app-stage.ts'
import { BuiltinStage } from './stages/builtin-stage.ts'
import { SiteStage } from './stages/site-stage.ts'

/** The stages of every request, in their order. */
export function createStages(plane: ControlPlane, renderer: Renderer, isr: IsrOf): Stage[] {
  return [new BuiltinStage(plane), new SiteStage(), new AppStage(renderer, isr)]
}
