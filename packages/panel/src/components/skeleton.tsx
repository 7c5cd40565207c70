/** The place of something that is on its way. */
export function Skeleton({ rows = 3, label = 'Loading' }: { readonly rows?: number; readonly label?: string }) {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">{label}</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} class="skeleton-row" aria-hidden="true" />
      ))}
    </div>
  )
}
