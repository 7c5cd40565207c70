import type { Route, SiteManifest } from '@svc/site'
import type { ModuleLoader } from './module-loader.ts'
import { filesOfRoute, imageFilesOf } from './route-files.ts'

/** Options of `loadRoute`. */
interface RouteLoad {
  readonly loader: Pick<ModuleLoader, 'load'>
  readonly route: Route
  readonly manifest: SiteManifest
  /** Told of a module that cannot be loaded and that the route can do without. */
  readonly onSkipped: (file: string, error: unknown) => void
}

/**
 * Loads the modules of a route. A page goes on without the modules of its images: they only add tags to its head.
 * @throws RENDER_COMPILE, RENDER_RESOLVE for any other module
 */
export async function loadRoute({ loader, route, manifest, onSkipped }: RouteLoad): Promise<void> {
  const files = filesOfRoute(route, manifest)
  const images = imageFilesOf(route)
  try {
    await loader.load(files)
    return
  } catch (error) {
    if (images.size === 0) throw error
  }
  // All at once is the usual case; only here it has to be known which of them it was.
  await loader.load(files.filter((file) => !images.has(file)))
  for (const file of images) {
    try {
      await loader.load([file])
    } catch (error) {
      onSkipped(file, error)
    }
  }
}
