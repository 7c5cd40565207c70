import { posts } from '@/lib/posts'
import styles from './post-list.module.css'

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
            <a href={`/posts/${post.slug}`}>{post.title}</a>
            <span>{post.summary}</span>
          </li>
        ))}
      </ul>
    </>
  )
}
