import { registerBuiltin, registerImporterBuiltin } from '../registry/builtins.ts'
import { currentScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'
import { revalidatePath, revalidateTag, unstable_noStore, unstableCacheOf } from './cache.ts'
import { getImageProps, Image, Link, Script } from './components.ts'
import { cookies, draftMode, headers } from './headers.ts'
import * as navigation from './navigation.ts'
import { NextRequest, NextURL } from './next-request.ts'
import { NextResponse } from './next-response.ts'
import { userAgent, userAgentFromString } from './user-agent.ts'

/** Runs a function, or waits for a promise, after the answer went out. Its failure goes to the site's log. */
function after(task: (() => unknown) | Promise<unknown>): void {
  const { guest } = currentScope('after()')
  if (typeof task === 'function') guest.after(task)
  else if (typeof task === 'object' && task !== null && typeof task.then === 'function') guest.after(() => task)
  else throw new RouterError('ROUTER_BAD_ARGUMENT', 'after() needs a function or a promise.')
}

/** Waits for the request: in this server pages are rendered for requests only. */
async function connection(): Promise<void> {
  currentScope('connection()').read('no-store', 'connection()')
}

type Exports = Readonly<Record<string, unknown>>

const modules: Readonly<Record<string, () => Exports>> = {
  navigation: () => ({ ...navigation }),
  headers: () => ({ headers, cookies, draftMode }),
  server: () => ({ NextRequest, NextResponse, NextURL, after, connection, userAgent, userAgentFromString }),
  link: () => ({ default: Link, Link }),
  image: () => ({ default: Image, Image, getImageProps }),
  script: () => ({ default: Script, Script }),
}

/** Registers the helper modules under both of their names. */
export function registerHelpers(): void {
  for (const [name, load] of Object.entries(modules)) {
    registerBuiltin(`svc/${name}`, load)
    registerBuiltin(`next/${name}`, load)
  }
  for (const name of ['svc/cache', 'next/cache']) {
    registerImporterBuiltin(name, (file) => ({
      revalidatePath,
      revalidateTag,
      unstable_cache: unstableCacheOf(file),
      unstable_noStore,
    }))
  }
}
