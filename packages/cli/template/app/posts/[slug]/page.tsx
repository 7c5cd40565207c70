import { notFound } from 'svc/navigation'
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
