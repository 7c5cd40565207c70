import { after } from 'node:test'
import type { Cleanup } from '@svc/testkit'

/**
 * For what all tests of a file share: what hooks into it ends with the last of them, the youngest first. To be called as the file is
 * loaded, since a hook of a running test is of that test alone.
 */
export function fileCleanup(): Cleanup {
  const ends: (() => unknown)[] = []
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  return {
    after: (end) => {
      if (end !== undefined) ends.push(end as () => unknown)
    },
  }
}
