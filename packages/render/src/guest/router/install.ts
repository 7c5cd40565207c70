import { registerHelpers } from '../helpers/register.ts'
import { prepareReact, type Runner, registerReactPreparation, registerRunner } from '../port.ts'
import { fetch } from '../prelude/fetch/fetch.ts'
import { runHandler } from './handler-runner.ts'
import { runMetadata } from './metadata-route-runner.ts'
import { runMiddleware } from './middleware-runner.ts'
import { runNotFound, runPage } from './page-runner.ts'
import { replaceReactCache } from './react-cache.ts'
import { requestFetch, type SendFetch } from './request-fetch.ts'
import { runStaticPaths } from './static-paths-runner.ts'

/** Registers everything that the router adds to the guest: runners, helper modules, `fetch` with `next`. Calls no host. */
export function installRouter(): void {
  registerHelpers()
  registerReactPreparation(replaceReactCache)
  registerRunner('page', withReact(runPage))
  registerRunner('not-found', withReact(runNotFound))
  registerRunner('handler', withReact(runHandler))
  registerRunner('metadata', withReact(runMetadata))
  registerRunner('middleware', withReact(runMiddleware))
  registerRunner('static-paths', withReact(runStaticPaths))
  const site = requestFetch(fetch as unknown as SendFetch)
  Object.defineProperty(globalThis, 'fetch', { value: site, configurable: true, writable: true })
}

/** The site's React gets its request cache before any module of the site can import it. */
function withReact(run: Runner): Runner {
  return (guest) => {
    prepareReact()
    return run(guest)
  }
}
