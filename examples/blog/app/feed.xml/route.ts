import { type Post, posts } from '@/lib/posts'
import { siteDescription, siteName, siteUrl } from '@/lib/site'

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => entities[char] ?? char)
}

function item(post: Post): string {
  const url = `${siteUrl}/blog/${post.slug}`
  return `    <item>
      <title>${escapeXml(post.title)}</title>
      <link>${url}</link>
      <guid>${url}</guid>
      <pubDate>${new Date(post.date).toUTCString()}</pubDate>
      <description>${escapeXml(post.summary)}</description>
${post.tags.map((tag) => `      <category>${escapeXml(tag)}</category>`).join('\n')}
    </item>`
}

export function GET(): Response {
  const feed = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0">
  <channel>
    <title>${escapeXml(siteName)}</title>
    <link>${siteUrl}</link>
    <description>${escapeXml(siteDescription)}</description>
${posts.map(item).join('\n')}
  </channel>
</rss>
`
  return new Response(feed, { headers: { 'content-type': 'application/rss+xml; charset=utf-8' } })
}
