import type { Metadata, PageProps } from 'svc'
import { notFound } from 'svc/navigation'
import { PostList } from '@/components/post-list'
import { TagList } from '@/components/tag-list'
import { postsWithTag, tagCounts } from '@/lib/posts'

type Props = PageProps<{ tag: string }>

export function generateStaticParams() {
  return tagCounts().map(([tag]) => ({ tag }))
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { tag } = await params
  return { title: `Posts about ${tag}` }
}

export default async function TagPage({ params }: Props) {
  const { tag } = await params
  const posts = postsWithTag(tag)
  if (posts.length === 0) notFound()
  return (
    <>
      <TagList current={tag} />
      <PostList posts={posts} />
    </>
  )
}
