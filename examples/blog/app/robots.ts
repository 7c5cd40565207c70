import type { MetadataRoute } from 'svc'
import { siteUrl } from '@/lib/site'

export default function robots(): MetadataRoute.Robots {
  return { rules: { userAgent: '*', allow: '/' }, sitemap: `${siteUrl}/sitemap.xml` }
}
