import { registerBuiltin, registerImporterBuiltin } from '../registry/builtins.ts'
import { after, connection } from './after.ts'
import { unstable_noStore, unstableCacheOf } from './cache.ts'
import { cookies, draftMode, headers } from './headers.ts'
import { getImageProps, Image } from './image.ts'
import { Link } from './link.ts'
import * as navigation from './navigation.ts'
import { NextRequest } from './next-request.ts'
import { NextResponse } from './next-response.ts'
import { NextURL } from './next-url.ts'
import { revalidatePath, revalidateTag } from './revalidate.ts'
import { Script } from './script.ts'
import { userAgent, userAgentFromString } from './user-agent.ts'

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
