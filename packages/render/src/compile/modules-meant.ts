import { realpathSync } from 'node:fs'
import { sep } from 'node:path'
import type { ModulePurge } from '@svc/protocol'

/** Modules are known by real paths. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // It is gone; what was compiled of it may still be there.
    return path
  }
}

/** Which modules a purge of compiled modules means, by id, before their dependents. */
export function modulesMeant({ paths, dir }: ModulePurge): (id: string) => boolean {
  if (paths !== undefined) {
    const wanted = new Set(paths.flatMap((path) => [path, realPath(path)]))
    return (id) => wanted.has(id)
  }
  if (dir === undefined) return () => true
  const bases = [dir, realPath(dir)].map((base) => (base.endsWith(sep) ? base : base + sep))
  return (id) => bases.some((base) => id.startsWith(base))
}
