/** The frame around every page. `name` holds letters, digits, dots, dashes and underscores only. */
export const layout = (name: string) => `import './globals.css'
import type { ReactNode } from 'react'

export const metadata = {
  title: { default: '${name}', template: '%s – ${name}' },
  description: 'A site made of files.',
}

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <header>
          <a href="/">
            <img src="/logo.svg" alt="" width={32} height={32} />
            ${name}
          </a>
        </header>
        <main>{children}</main>
        <footer>
          Rendered on the server. Edit <code>app/page.tsx</code> and reload.
        </footer>
      </body>
    </html>
  )
}
`

export const homePage = `import styles from './post-list.module.css'
import { posts } from '@/lib/posts'

export default function Home() {
  return (
    <>
      <h1>It works</h1>
      <p>
        This page is <code>app/page.tsx</code>. Below are links to one dynamic route, and <a href="/api/time">/api/time</a> is a
        route handler.
      </p>
      <ul className={styles.list}>
        {posts.map((post) => (
          <li key={post.slug} className={styles.item}>
            <a href={\`/posts/\${post.slug}\`}>{post.title}</a>
            <span>{post.summary}</span>
          </li>
        ))}
      </ul>
    </>
  )
}
`

export const postPage = `import { notFound } from 'svc/navigation'
import { findPost } from '@/lib/posts'

interface Props {
  params: Promise<{ slug: string }>
}

export async function generateMetadata({ params }: Props) {
  const post = findPost((await params).slug)
  return { title: post?.title ?? 'Not found' }
}

export default async function PostPage({ params }: Props) {
  const post = findPost((await params).slug)
  if (post === undefined) notFound()
  return (
    <article>
      <h1>{post.title}</h1>
      <p>{post.text}</p>
      <p>
        <a href="/">Back</a>
      </p>
    </article>
  )
}
`

export const notFoundPage = `export default function NotFound() {
  return (
    <>
      <h1>Nothing here</h1>
      <p>
        There is no page at this address. <a href="/">Back to the start</a>
      </p>
    </>
  )
}
`

export const timeRoute = `export const dynamic = 'force-dynamic'

export function GET(): Response {
  return Response.json({ now: new Date().toISOString() })
}
`

export const posts = `export interface Post {
  slug: string
  title: string
  summary: string
  text: string
}

export const posts: Post[] = [
  {
    slug: 'pages',
    title: 'Pages are files',
    summary: 'A directory is a path.',
    text: 'Put a page.tsx into a directory below app/ and it answers at that path. A layout.tsx wraps everything below it.',
  },
  {
    slug: 'dynamic-routes',
    title: 'Dynamic routes',
    summary: 'A directory in brackets takes any value.',
    text: 'This very page is app/posts/[slug]/page.tsx. Its slug comes in as a parameter.',
  },
  {
    slug: 'styles',
    title: 'Styles',
    summary: 'CSS files and CSS modules.',
    text: 'Import a .css file for all pages, or a .module.css file for class names that no other file can meet.',
  },
]

export function findPost(slug: string): Post | undefined {
  return posts.find((post) => post.slug === slug)
}
`
