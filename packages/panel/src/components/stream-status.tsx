import type { StreamState } from '../data/live-stream.ts'
import { Status } from './status.tsx'
import { Time } from './time.tsx'

/** Tells if a stream is live, or since when it is not. */
export function StreamStatus({ state }: { readonly state: StreamState }) {
  switch (state.kind) {
    case 'live':
      return <Status tone="good">Live</Status>
    case 'connecting':
      return <Status tone="idle">Connecting</Status>
    case 'stale':
      return (
        <Status tone="warning">
          Stale since <Time at={state.sinceMs} />
          {state.why !== undefined && `: ${state.why}`}
        </Status>
      )
  }
}
