import type { Engine, EngineOptions } from '../listener/engine.ts'
import { UwsEngine } from './uws-engine.ts'

/** Makes the engine on uWebSockets.js. It listens on nothing yet. */
export function createUwsEngine(options: EngineOptions): Engine {
  return new UwsEngine(options)
}
