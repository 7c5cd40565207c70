import { isRecord } from './merge-metadata.ts'
import { escapeHtml, listOf } from './tag-list.ts'

/** Serialises what `sitemap.*` returns to the XML of sitemaps.org, with image, video and alternate-language extensions. */
export function sitemapXml(entries: unknown): string {
  const items = listOf(entries).filter(isRecord)
  const uses = (field: string) => items.some((item) => listOf(item[field]).length > 0)
  const namespaces = [
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"',
    ...(uses('images') ? ['xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'] : []),
    ...(uses('videos') ? ['xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'] : []),
    ...(uses('alternates') ? ['xmlns:xhtml="http://www.w3.org/1999/xhtml"'] : []),
  ]
  const body = items.map(sitemapUrl).join('')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset ${namespaces.join(' ')}>\n${body}</urlset>\n`
}

function sitemapUrl(item: Readonly<Record<string, unknown>>): string {
  const languages = isRecord(item['alternates']) ? item['alternates']['languages'] : undefined
  const lines = [
    element('loc', item['url']),
    ...Object.entries(isRecord(languages) ? languages : {}).map(
      ([language, href]) =>
        `<xhtml:link rel="alternate" hreflang="${escapeHtml(language)}" href="${escapeHtml(String(href))}" />\n`,
    ),
    ...listOf(item['images']).map((image) => `<image:image>\n${element('image:loc', image)}</image:image>\n`),
    ...listOf(item['videos']).filter(isRecord).map(sitemapVideo),
    element('lastmod', item['lastModified']),
    element('changefreq', item['changeFrequency']),
    element('priority', item['priority']),
  ]
  return `<url>\n${lines.join('')}</url>\n`
}

function sitemapVideo(video: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(video).map(([name, value]) => {
    if (!isRecord(value)) return element(`video:${name}`, value)
    const { content, ...attributes } = value
    const text = Object.entries(attributes).map(([key, entry]) => ` ${key}="${escapeHtml(String(entry))}"`)
    return `<video:${name}${text.join('')}>${escapeHtml(textOf(content))}</video:${name}>\n`
  })
  return `<video:video>\n${fields.join('')}</video:video>\n`
}

function element(name: string, value: unknown): string {
  return value === undefined || value === null ? '' : `<${name}>${escapeHtml(textOf(value))}</${name}>\n`
}

/** Serialises what `robots.*` returns to robots.txt (RFC 9309). */
export function robotsText(robots: unknown): string {
  if (!isRecord(robots)) return ''
  let text = ''
  for (const rule of listOf(robots['rules']).filter(isRecord)) {
    const agents = listOf(rule['userAgent'] ?? '*')
    for (const agent of agents) text += line('User-Agent', agent)
    for (const path of listOf(rule['allow'])) text += line('Allow', path)
    for (const path of listOf(rule['disallow'])) text += line('Disallow', path)
    if (rule['crawlDelay'] !== undefined) text += line('Crawl-delay', rule['crawlDelay'])
    text += '\n'
  }
  if (robots['host'] !== undefined) text += line('Host', robots['host'])
  for (const sitemap of listOf(robots['sitemap'])) text += line('Sitemap', sitemap)
  return text
}

/** One line of robots.txt: a line break in a value would begin another rule, so it becomes a blank. */
function line(name: string, value: unknown): string {
  return `${name}: ${textOf(value).replace(/[\r\n]+/g, ' ')}\n`
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '')
}
