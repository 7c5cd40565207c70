import { registerHelpers } from '../helpers/register.ts'
import { runNotFound, runPage } from '../page/page-runner.ts'
import { fetch } from '../prelude/fetch/fetch.ts'
import { reactRuntime } from '../react/react-runtime.ts'
import { registerRunner } from '../request/runners.ts'
import { replaceReactCache } from '../scope/react-cache.ts'
import { requestFetch, type SendFetch } from '../scope/request-fetch.ts'
import { runHandler } from './handler-runner.ts'
import { runMetadata } from './metadata-route-runner.ts'
import { runMiddleware } from './middleware-runner.ts'
import { runStaticPaths } from './static-paths-runner.ts'

/** Registers everything that the router adds to the guest: runners, helper modules, `fetch` with `next`. Calls no host. */
export function installRouter(): void {
  registerHelpers()
  replaceReactCache(reactRuntime)
  registerRunner('page', runPage)
  registerRunner('not-found', runNotFound)
  registerRunner('handler', runHandler)
  registerRunner('metadata', runMetadata)
  registerRunner('middleware', runMiddleware)
  registerRunner('static-paths', runStaticPaths)
  const site = requestFetch(fetch as unknown as SendFetch)
  Object.defineProperty(globalThis, 'fetch', { value: site, configurable: true, writable: true })
}
