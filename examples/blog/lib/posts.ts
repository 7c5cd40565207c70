import aPageIsAFunction from '@/content/a-page-is-a-function.json'
import helloWorld from '@/content/hello-world.json'
import readingTheFeed from '@/content/reading-the-feed.json'
import tagsWithoutADatabase from '@/content/tags-without-a-database.json'

export interface Post {
  readonly slug: string
  readonly title: string
  /** Day of publication, "2026-03-02". */
  readonly date: string
  readonly summary: string
  readonly tags: readonly string[]
  /** Lines as `components/markup.tsx` reads them. */
  readonly body: readonly string[]
}

/** All posts, the newest first. */
export const posts: readonly Post[] = [aPageIsAFunction, helloWorld, readingTheFeed, tagsWithoutADatabase].sort((left, right) =>
  right.date.localeCompare(left.date),
)

export function findPost(slug: string): Post | undefined {
  return posts.find((post) => post.slug === slug)
}

export function postsWithTag(tag: string): readonly Post[] {
  return posts.filter((post) => post.tags.includes(tag))
}

/** Tags and how often they occur, in alphabetical order. */
export function tagCounts(): readonly (readonly [tag: string, count: number])[] {
  const counts = new Map<string, number>()
  for (const post of posts) {
    for (const tag of post.tags) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  }
  return [...counts].sort(([left], [right]) => left.localeCompare(right))
}

/** "2 March 2026" */
export function longDate(date: string): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(date))
}
