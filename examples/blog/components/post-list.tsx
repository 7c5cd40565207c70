import Link from 'svc/link'
import { longDate, type Post } from '@/lib/posts'
import styles from './post-list.module.css'

/** Posts with date and summary. */
export function PostList({ posts }: { posts: readonly Post[] }) {
  return (
    <ol className={styles.list}>
      {posts.map((post) => (
        <li key={post.slug} className={styles.item}>
          <time className={styles.date} dateTime={post.date}>
            {longDate(post.date)}
          </time>
          <h2 className={styles.title}>
            <Link href={`/blog/${post.slug}`}>{post.title}</Link>
          </h2>
          <p className={styles.summary}>{post.summary}</p>
        </li>
      ))}
    </ol>
  )
}
