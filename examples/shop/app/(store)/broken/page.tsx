import type { PageProps, Params } from 'next'
import { askWarehouse, Delayed } from './failure'

/**
 * A page that fails: /broken fails before the first byte (status 500), /broken?late=1 when part of the page
 * was sent already. Both show error.tsx of this directory.
 */
export default async function BrokenPage({ searchParams }: PageProps<Params, { late?: string }>) {
  const { late } = await searchParams
  if (late === undefined) askWarehouse()
  return (
    <>
      <h1>The first half</h1>
      <Delayed />
    </>
  )
}
