import Link from 'svc/link'

export default function NotFound() {
  return (
    <article>
      <h1>There is nothing here</h1>
      <p>
        The page may have moved, or it never was. <Link href="/">All posts</Link> are on the first page.
      </p>
    </article>
  )
}
