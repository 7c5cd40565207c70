import type { ApiError } from '../data/api.ts'

interface FailureProps {
  /** The thing that failed, as the end of "Failed to ...". */
  readonly doing: string
  readonly error: ApiError
  readonly retry?: (() => void) | undefined
}

/** Says what failed and why, and offers to try again. */
export function Failure({ doing, error, retry }: FailureProps) {
  return (
    <div class="failure" role="alert">
      <p>
        <strong>Failed to {doing}:</strong> {error.message} <small>({error.code})</small>
        {error.requestId !== undefined && <small> Request {error.requestId}</small>}
      </p>
      {error.mistakes.length > 0 && (
        <ul>
          {error.mistakes.map((mistake, index) => (
            <li key={index}>
              <code>{mistake}</code>
            </li>
          ))}
        </ul>
      )}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}
