import Link from 'next/link'

export default function NotFound() {
  return (
    <main className="words">
      <h1>Not on our shelves</h1>
      <p>
        <Link href="/">Everything we have</Link> is on the first page.
      </p>
    </main>
  )
}
