import Link from 'svc/link'
import { tagCounts } from '@/lib/posts'
import styles from './tag-list.module.css'

/** All tags with the number of their posts; `current` is marked. */
export function TagList({ current }: { current?: string }) {
  return (
    <nav aria-label="Tags">
      <ul className={styles.tags}>
        {tagCounts().map(([tag, count]) => (
          <li key={tag}>
            <Link
              className={styles.tag}
              href={`/tags/${encodeURIComponent(tag)}`}
              aria-current={tag === current ? 'page' : undefined}
            >
              {tag} <span className={styles.count}>{count}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
