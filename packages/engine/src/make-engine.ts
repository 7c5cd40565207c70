import { codeOf } from '@svc/core'
import type { Engine, EngineOptions } from './listener/engine.ts'

/** The engines by their names in the configuration. */
type EngineName = 'uws' | 'node'

/**
 * Makes an engine. Only its own libraries are loaded.
 * @param onFallback called when there is no binary of uWebSockets.js for this platform, so that it is engine node
 */
export async function makeEngine(
  name: EngineName,
  options: EngineOptions,
  onFallback: (cause: unknown) => void,
): Promise<Engine> {
  if (name === 'uws') {
    try {
      const { createUwsEngine } = await import('./uws/uws-engine.ts')
      return createUwsEngine(options)
    } catch (cause) {
      if (codeOf(cause) !== 'UWS_UNAVAILABLE') throw cause
      onFallback(cause)
    }
  }
  const { createNodeEngine } = await import('./node/node-engine.ts')
  return createNodeEngine(options)
}
