import { guestSettings } from '../host/host.ts'
import { digestOf } from '../host/site-log.ts'

/** A short id of an error, equal for equal errors: FNV-1a (32 bit) over message and stack, as eight hex digits. */
export function shownDigest(thrown: unknown): string {
  return digestOf(thrown) ?? fnv1a(describe(thrown))
}

function describe(thrown: unknown): string {
  if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}\n${thrown.stack ?? ''}`
  return String(thrown)
}

function fnv1a(text: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return (hash >>> 0).toString(16).padStart(8, '0')
}

/** Message that `error.*` gets in production: an error's own message may be confidential. */
const genericMessage =
  'An error occurred while this page was rendered. Its message is left out in production builds to keep sensitive details ' +
  'private. The digest of this error is also in the log of the server.'

/**
 * The props of `error.*` and `global-error.*`: `{error, reset}`. In production the message is generic and the stack left
 * out; `error.digest` is also in the site's log.
 *
 * `reset` is a link to the same URL. Without scripts in the browser nothing can call it, so it carries that URL:
 * `<a href={reset.href}>Try again</a>` is such a link; `<button onClick={reset}>` renders but does nothing.
 */
export function errorProps(thrown: unknown, url: string): object {
  const { pathname, search } = new URL(url)
  const reset = Object.assign(
    () => {
      // Rendered on the server only: there is nothing to reset.
    },
    { href: pathname + search },
  )
  return { error: shownError(thrown), reset }
}

/** The error as site code may see it. */
function shownError(thrown: unknown): Error & { digest: string } {
  const digest = shownDigest(thrown)
  if (guestSettings().mode === 'production') {
    const error = new Error(genericMessage)
    error.stack = ''
    return Object.assign(error, { digest })
  }
  const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown })
  return Object.isExtensible(error) ? Object.assign(error, { digest }) : Object.assign(new Error(error.message), { digest })
}
