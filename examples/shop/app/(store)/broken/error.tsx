'use client'

import type { ErrorProps } from 'next'
import Link from 'next/link'

export default function BrokenError({ error }: ErrorProps) {
  return (
    <section className="panel" role="alert">
      <h2>This part failed</h2>
      <p>The cart and the rest of the page are still here.{error.digest === undefined ? '' : ` Reference: ${error.digest}`}</p>
      <Link href="/">Back to the shop</Link>
    </section>
  )
}
