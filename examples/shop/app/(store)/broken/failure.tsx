import { Suspense } from 'react'

/** Fails at once. */
export function askWarehouse(): never {
  throw new Error('the warehouse does not answer')
}

async function SecondHalf(): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, 50))
  return askWarehouse()
}

/** Shows its fallback, then fails. */
export function Delayed() {
  return (
    <Suspense fallback={<p className="quiet">The second half is coming…</p>}>
      <SecondHalf />
    </Suspense>
  )
}
