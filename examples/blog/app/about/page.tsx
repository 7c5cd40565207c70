import type { Metadata } from 'svc'

export const metadata: Metadata = { title: 'About', description: 'What this blog is made of.' }

/** Nothing here depends on the request, so the page is rendered once. */
export const dynamic = 'force-static'

export default function About() {
  return (
    <article>
      <h1>About</h1>
      <p>
        Plain Pages is an example site: an index, posts, tags, a feed, a sitemap and an error page in about three hundred lines.
        Everything is rendered on the server, and the browser gets HTML and CSS.
      </p>
      <p>
        The posts are JSON files in <code>content/</code>. Add one, name it in <code>lib/posts.ts</code>, and it is there.
      </p>
    </article>
  )
}
