type Plain = Record<string, unknown>

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function copyPath(target: Plain, source: unknown, path: readonly string[]): void {
  const [key, ...rest] = path
  if (key === undefined) return
  const from = isPlain(source) ? source[key] : undefined
  const into = target[key]
  if (rest.length > 0 && isPlain(into)) copyPath(into, from, rest)
  else if (rest.length > 0) return
  else if (from === undefined) delete target[key]
  else target[key] = from
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) freeze(inner)
  }
  return value
}

/**
 * Returns `next` with the values of `current` at these dotted paths: settings that need a restart stay as they run, and the rest is
 * applied.
 */
export function pinKeys<T extends object>(next: T, current: T, paths: readonly string[]): T {
  if (paths.length === 0) return next
  const result = structuredClone(next)
  for (const path of paths) copyPath(result as Plain, structuredClone(current), path.split('.'))
  return freeze(result)
}
