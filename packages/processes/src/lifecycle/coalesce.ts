/**
 * Makes runs of a task follow one another. Who asks while one is under way gets the next, and all who ask meanwhile share it:
 * a run that has begun may have read the files before they were changed.
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
