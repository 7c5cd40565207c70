/**
 * Serializes the runs of a task. All calls during a run share the next one: the current run may have read the files before they
 * changed.
 */
export function coalesce<T>(task: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  let next: Promise<T> | undefined

  const run = (): Promise<T> => {
    next = undefined
    const started = task().finally(() => {
      if (running === started) running = undefined
    })
    running = started
    return started
  }
  return () => {
    if (next !== undefined) return next
    if (running === undefined) return run()
    next = running.then(run, run)
    return next
  }
}
