export interface Post {
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
