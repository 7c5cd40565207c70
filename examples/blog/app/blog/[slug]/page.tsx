import type { Metadata, PageProps } from 'svc'
import Link from 'svc/link'
import { notFound } from 'svc/navigation'
import { Markup } from '@/components/markup'
import { findPost, longDate, posts } from '@/lib/posts'
import styles from './post.module.css'

type Props = PageProps<{ slug: string }>

/** Only these posts exist; any other name is a 404. */
export const dynamicParams = false
/** An hour; an edit shows at once all the same. */
export const revalidate = 3600

export function generateStaticParams() {
  return posts.map(({ slug }) => ({ slug }))
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { slug } = await params
  const post = findPost(slug)
  if (post === undefined) return { title: 'Not found' }
  return {
    title: post.title,
    description: post.summary,
    keywords: post.tags,
    alternates: { canonical: `/blog/${post.slug}` },
    openGraph: { type: 'article', title: post.title, description: post.summary, publishedTime: post.date, tags: post.tags },
  }
}

export default async function PostPage({ params }: Props) {
  const { slug } = await params
  const post = findPost(slug) ?? notFound()
  return (
    <article>
      <header className={styles.header}>
        <h1 className={styles.title}>{post.title}</h1>
        <p className={styles.facts}>
          <time dateTime={post.date}>{longDate(post.date)}</time>
          {post.tags.map((tag) => (
            <Link key={tag} href={`/tags/${encodeURIComponent(tag)}`}>
              {tag}
            </Link>
          ))}
        </p>
      </header>
      <Markup lines={post.body} />
    </article>
  )
}
