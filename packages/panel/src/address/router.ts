import { useCallback, useEffect, useState } from 'preact/hooks'

/** Sent to the window when the address has changed by `navigate`. */
const CHANGED = 'svc:navigated'

/** Path and query of the address. */
interface Place {
  readonly path: string
  readonly query: URLSearchParams
}

function placeNow(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) }
}

/** Goes to another address of the panel. `replace`: the one before is not kept in the history. */
export function navigate(href: string, mode: 'push' | 'replace' = 'push'): void {
  if (mode === 'replace') history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  dispatchEvent(new Event(CHANGED))
}

/** The address; draws again when it changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(placeNow)
  useEffect(() => {
    const update = () => setPlace(placeNow())
    addEventListener('popstate', update)
    addEventListener(CHANGED, update)
    return () => {
      removeEventListener('popstate', update)
      removeEventListener(CHANGED, update)
    }
  }, [])
  return place
}

/** An address with a parameter changed; the value "" removes it. */
export function withParameter({ path, query }: Place, name: string, value: string): string {
  const changed = new URLSearchParams(query)
  if (value === '') changed.delete(name)
  else changed.set(name, value)
  const text = changed.toString()
  return text === '' ? path : `${path}?${text}`
}

/** A parameter of the address as state. A value equal to `fallback` is left out of the address. */
export function useParameter(name: string, fallback = ''): readonly [string, (value: string) => void] {
  const { query } = usePlace()
  const set = useCallback(
    (value: string) => navigate(withParameter(placeNow(), name, value === fallback ? '' : value), 'replace'),
    [name, fallback],
  )
  return [query.get(name) ?? fallback, set]
}

/** True if a click on a link asks for another tab or window, or was handled already. */
export function isForBrowser(event: MouseEvent): boolean {
  return event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
}

/** An address of the panel to go to, never of another place. */
export function safeNext(next: string | null): string {
  const isOwn = next !== null && /^\/__svc\/(?:admin|obs)(?:[/?#]|$)/.test(next)
  return isOwn ? next : '/__svc/admin'
}
