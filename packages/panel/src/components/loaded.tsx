import type { ComponentChildren } from 'preact'
import type { Resource } from '../data/use-resource.ts'
import { Failure } from './failure.tsx'
import { Skeleton } from './skeleton.tsx'
import { Time } from './time.tsx'

interface LoadedProps<Data> {
  readonly resource: Resource<Data>
  /** The end of "Failed to ...". */
  readonly doing: string
  readonly rows?: number
  readonly children: (data: Data) => ComponentChildren
}

/** Shows a resource: its place while it loads, the failure, or its data, which may be stale. */
export function Loaded<Data>({ resource, doing, rows = 3, children }: LoadedProps<Data>) {
  const { data, error, staleSinceMs, reload } = resource
  if (data === undefined) {
    return error === undefined ? <Skeleton rows={rows} /> : <Failure doing={doing} error={error} retry={reload} />
  }
  return (
    <>
      {error !== undefined && (
        <>
          <Failure doing={doing} error={error} retry={reload} />
          {staleSinceMs !== undefined && (
            <p class="stale">
              Stale: from <Time at={staleSinceMs} />
            </p>
          )}
        </>
      )}
      {children(data)}
    </>
  )
}
