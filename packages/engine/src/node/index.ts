import type { Engine, EngineOptions } from '../listener/engine.ts'
import { NodeEngine } from './node-engine.ts'

/** Makes the engine on node:http and node:http2. It listens on nothing yet. */
export function createNodeEngine(options: EngineOptions): Engine {
  return new NodeEngine(options)
}
