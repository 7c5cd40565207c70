import { useCallback, useLayoutEffect, useRef } from 'preact/hooks'

interface RepeatOptions {
  /** Loads again after each such time while the page is visible. @default never */
  readonly everyMs?: number | undefined
  /** Multiplies it: what takes several requests is asked for less often. @default 1 */
  readonly factor?: () => number
  /** False: loads nothing. @default true */
  readonly isWanted?: boolean
}

/**
 * Loads something, again when `load` is another function, after each `everyMs`, and when the page comes into view.
 * @param load never rejects @returns loads now
 */
export function useRepeated(
  load: (signal: AbortSignal) => Promise<void>,
  { everyMs, factor = () => 1, isWanted = true }: RepeatOptions,
): () => void {
  const now = useRef<() => void>(() => undefined)
  // Before the browser draws: an answer that is asked for sooner comes sooner.
  useLayoutEffect(() => {
    if (!isWanted) return
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isLoading = false
    let isAgain = false
    const run = async () => {
      if (isLoading) return
      isLoading = true
      clearTimeout(timer)
      do {
        isAgain = false
        await load(abort.signal)
      } while (isAgain && !abort.signal.aborted)
      isLoading = false
      if (everyMs !== undefined && !abort.signal.aborted) timer = setTimeout(runIfVisible, everyMs * factor())
    }
    const runIfVisible = () => void (document.visibilityState === 'visible' && run())
    const onVisible = () => void (everyMs !== undefined && runIfVisible())
    now.current = () => {
      // The answer on its way may be of the time before the change that the caller wants to see.
      isAgain = true
      void run()
    }
    document.addEventListener('visibilitychange', onVisible)
    void run()
    return () => {
      document.removeEventListener('visibilitychange', onVisible)
      clearTimeout(timer)
      abort.abort()
    }
  }, [load, everyMs, isWanted])
  return useCallback(() => now.current(), [])
}
