import type { More } from '../data/use-pages.ts'
import { counted } from '../format/quantity.ts'

/** Tells how much of a list is loaded, and loads more. Absent where all is. */
export function MoreRows({ more, count }: { readonly more: More | undefined; readonly count: number }) {
  if (more === undefined) return null
  return (
    <div class="buttons">
      <span role="status">
        {more.isLoading ? 'Loading more: ' : 'There are more: '}
        {counted(count, 'row')} loaded.
      </span>
      <button type="button" disabled={more.isLoading} onClick={more.load}>
        Load more
      </button>
    </div>
  )
}
