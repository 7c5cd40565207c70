import { PostList } from '@/components/post-list'
import { TagList } from '@/components/tag-list'
import { posts } from '@/lib/posts'
import { siteDescription } from '@/lib/site'

export default function Home() {
  return (
    <>
      <h1>{siteDescription}</h1>
      <TagList />
      <PostList posts={posts} />
    </>
  )
}
