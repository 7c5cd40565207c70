'use client'

import type { ErrorProps } from 'svc'
import Link from 'svc/link'

export default function ErrorPage({ error }: ErrorProps) {
  return (
    <article>
      <h1>This did not work</h1>
      <p>
        Something went wrong while the page was made. It is written down
        {error.digest === undefined ? '.' : ` under ${error.digest}.`} <Link href="/">Back to the posts</Link>
      </p>
    </article>
  )
}
