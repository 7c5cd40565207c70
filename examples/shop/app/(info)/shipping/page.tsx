import type { Metadata } from 'next'

export const metadata: Metadata = { title: 'Shipping' }
/** A day. */
export const revalidate = 86_400

export default function Shipping() {
  return (
    <>
      <h1>Shipping</h1>
      <p>Orders leave on the next working day. Kettles travel with a hot-water bottle, lamps with a spare bulb.</p>
      <p>
        This page is in the route group <code>(info)</code>: its URL is <code>/shipping</code>, and its layout has no side.
      </p>
    </>
  )
}
