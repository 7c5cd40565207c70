import type { MetadataRoute } from 'svc'
import { posts, tagCounts } from '@/lib/posts'
import { siteUrl } from '@/lib/site'

export default function sitemap(): MetadataRoute.Sitemap {
  return [
    { url: siteUrl, lastModified: posts[0]?.date ?? new Date(0), changeFrequency: 'weekly', priority: 1 },
    { url: `${siteUrl}/about`, changeFrequency: 'yearly' },
    ...posts.map((post) => ({ url: `${siteUrl}/blog/${post.slug}`, lastModified: post.date })),
    ...tagCounts().map(([tag]) => ({ url: `${siteUrl}/tags/${encodeURIComponent(tag)}` })),
  ]
}
