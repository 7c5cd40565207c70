import { Emit, type InspectRequest } from '../contract/isolate.ts'
import { host } from '../host/host.ts'
import { emittedError } from '../host/site-log.ts'
import { requireModule } from '../registry/registry.ts'

/** Exports that say how a module wants to be treated. */
const configNames = [
  'config',
  'dynamic',
  'dynamicParams',
  'fetchCache',
  'maxDuration',
  'preferredRegion',
  'revalidate',
  'runtime',
] as const

/** Whether a value survives JSON as it is; functions and class instances do not. */
function isPlainData(value: unknown, depth = 0): boolean {
  if (value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value)) return true
  if (typeof value !== 'object' || depth > 10) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = Array.isArray(value) || prototype === Object.prototype || prototype === null
  return isPlain && Object.values(value).every((item) => isPlainData(item, depth + 1))
}

function configOf(id: string): Record<string, unknown> {
  const namespace = requireModule(id)
  const found: Record<string, unknown> = {}
  for (const name of configNames) {
    if (!(name in namespace)) continue
    const value = namespace[name]
    if (isPlainData(value)) found[name] = value
  }
  return found
}

/** Runs modules and reports their config exports; a module that throws fails the request. */
export function inspectModules(requestNumber: number, request: InspectRequest): void {
  try {
    const modules = Object.fromEntries(request.modules.map((id) => [id, configOf(id)]))
    host().emit(requestNumber, Emit.finished, JSON.stringify({ reads: [], tags: [], modules }), undefined)
  } catch (error) {
    host().emit(requestNumber, Emit.failed, JSON.stringify(emittedError(error)), undefined)
  }
}
