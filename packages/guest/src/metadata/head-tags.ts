import { isRecord } from './merge-metadata.ts'
import { addOpenGraphTags, addTwitterTags } from './social-tags.ts'
import { type HeadTag, listOf, type MetadataExport, type ResolvedMetadata, type ResolveUrl, TagList } from './tag-list.ts'

/** Adds title, description and the other fields that are one tag each. */
function addBasicTags(list: TagList, metadata: ResolvedMetadata): void {
  if (metadata.title !== null && metadata.title.absolute !== '') list.title(metadata.title.absolute)
  list.name('description', metadata['description'])
  list.name('application-name', metadata['applicationName'])
  for (const author of listOf(metadata['authors'])) {
    if (!isRecord(author)) continue
    list.link('author', author['url'])
    list.name('author', author['name'])
  }
  list.link('manifest', metadata['manifest'], isRemote(metadata['manifest']) ? {} : { crossOrigin: 'use-credentials' })
  list.name('generator', metadata['generator'])
  list.name('keywords', listOf(metadata['keywords']).join(','))
  list.name('referrer', metadata['referrer'])
  for (const name of ['creator', 'publisher', 'abstract']) list.name(name, metadata[name])
  for (const rel of ['archives', 'assets', 'bookmarks']) {
    for (const url of listOf(metadata[rel])) list.link(rel, url)
  }
  const pagination = metadata['pagination']
  if (isRecord(pagination)) {
    list.link('prev', pagination['previous'])
    list.link('next', pagination['next'])
  }
  for (const name of ['category', 'classification']) list.name(name, metadata[name])
}

/** Adds `robots` and `googlebot`. */
function addRobotsTags(list: TagList, metadata: ResolvedMetadata): void {
  const robots = metadata['robots']
  list.name('robots', robotsContent(robots))
  if (isRecord(robots)) list.name('googlebot', robotsContent(robots['googleBot']))
}

const robotsFlags = [
  'noarchive',
  'nosnippet',
  'noimageindex',
  'nocache',
  'notranslate',
  'indexifembedded',
  'nositelinkssearchbox',
]
const robotsValues = ['unavailable_after', 'max-video-preview', 'max-image-preview', 'max-snippet']

function robotsContent(robots: unknown): string | undefined {
  if (!isRecord(robots)) return typeof robots === 'string' ? robots : undefined
  const parts: string[] = []
  if (typeof robots['index'] === 'boolean') parts.push(robots['index'] ? 'index' : 'noindex')
  if (typeof robots['follow'] === 'boolean') parts.push(robots['follow'] ? 'follow' : 'nofollow')
  for (const flag of robotsFlags) if (robots[flag] === true) parts.push(flag)
  for (const key of robotsValues) if (robots[key] !== undefined) parts.push(`${key}:${String(robots[key])}`)
  return parts.length === 0 ? undefined : parts.join(', ')
}

/** Adds canonical, languages, media and types of `alternates`. */
function addAlternateTags(list: TagList, metadata: ResolvedMetadata, resolveUrl: ResolveUrl): void {
  const alternates = metadata['alternates']
  if (!isRecord(alternates)) return
  for (const { url } of entriesOf(alternates['canonical'])) list.link('canonical', resolveUrl(url))
  for (const [key, attribute] of [
    ['languages', 'hrefLang'],
    ['media', 'media'],
    ['types', 'type'],
  ] as const) {
    const group = alternates[key]
    if (!isRecord(group)) continue
    for (const [name, value] of Object.entries(group)) {
      for (const { url, title } of entriesOf(value)) list.link('alternate', resolveUrl(url), { [attribute]: name, title })
    }
  }
}

/** One alternate is a URL, `{url, title}`, or a list of either. */
function entriesOf(value: unknown): { url: unknown; title?: unknown }[] {
  return listOf(value)
    .map((entry) => (isRecord(entry) ? { url: entry['url'], title: entry['title'] } : { url: entry }))
    .filter((entry) => entry.url !== undefined && entry.url !== null)
}

const verificationNames: Readonly<Record<string, string>> = {
  google: 'google-site-verification',
  yahoo: 'y_key',
  yandex: 'yandex-verification',
  me: 'me',
}

/** Adds verification, apple-web-app, format-detection, itunes, facebook, app-links and `other`. */
function addVendorTags(list: TagList, metadata: ResolvedMetadata): void {
  const { itunes, facebook, formatDetection: detection } = metadata
  if (isRecord(itunes)) {
    const argument = itunes['appArgument'] === undefined ? '' : `, app-argument=${String(itunes['appArgument'])}`
    list.name('apple-itunes-app', `app-id=${String(itunes['appId'])}${argument}`)
  }
  if (isRecord(facebook)) {
    list.property('fb:app_id', facebook['appId'])
    for (const admin of listOf(facebook['admins'])) list.property('fb:admins', admin)
  }
  if (isRecord(detection)) {
    const off = ['telephone', 'date', 'address', 'email', 'url'].filter((key) => detection[key] === false)
    list.name('format-detection', off.map((key) => `${key}=no`).join(', '))
  }
  const verification = metadata['verification']
  if (isRecord(verification)) {
    for (const [key, name] of Object.entries(verificationNames)) {
      for (const value of listOf(verification[key])) list.name(name, value)
    }
    addNamed(list, verification['other'])
  }
  addAppleWebApp(list, metadata['appleWebApp'])
  addAppLinks(list, metadata['appLinks'])
  addNamed(list, metadata['other'])
}

function addNamed(list: TagList, values: unknown): void {
  if (!isRecord(values)) return
  for (const [name, value] of Object.entries(values)) {
    for (const content of listOf(value)) list.name(name, content)
  }
}

function addAppleWebApp(list: TagList, app: unknown): void {
  if (app !== true && !isRecord(app)) return
  const settings = app === true ? {} : app
  if (settings['capable'] !== false) list.name('mobile-web-app-capable', 'yes')
  list.name('apple-mobile-web-app-title', settings['title'])
  for (const image of listOf(settings['startupImage'])) {
    const { url, media } = isRecord(image) ? image : { url: image, media: undefined }
    list.link('apple-touch-startup-image', url, { media })
  }
  list.name('apple-mobile-web-app-status-bar-style', settings['statusBarStyle'] ?? 'default')
}

function addAppLinks(list: TagList, links: unknown): void {
  if (!isRecord(links)) return
  for (const [platform, value] of Object.entries(links)) {
    for (const entry of listOf(value)) {
      if (!isRecord(entry)) continue
      for (const [key, content] of Object.entries(entry)) {
        list.property(`al:${platform}:${separated(key, '_')}`, content)
      }
    }
  }
}

/** A name in camel case with its words in lower case, and something between them. */
function separated(name: string, separator: string): string {
  return name.replace(/[A-Z]/g, (letter) => separator + letter.toLowerCase())
}

function isRemote(url: unknown): boolean {
  return typeof url === 'string' && /^[a-z][a-z0-9+.-]*:|^\/\//i.test(url)
}

/** Adds the links of `icons`: a URL, a list, or `{icon, shortcut, apple, other}`. */
function addIconTags(list: TagList, metadata: ResolvedMetadata): void {
  const icons = metadata['icons']
  if (icons === undefined || icons === null) return
  const groups = isRecord(icons) && icons['url'] === undefined ? icons : { icon: icons }
  for (const icon of listOf(groups['shortcut'])) addIcon(list, 'shortcut icon', icon)
  for (const icon of listOf(groups['icon'])) addIcon(list, 'icon', icon)
  for (const icon of listOf(groups['apple'])) addIcon(list, 'apple-touch-icon', icon)
  for (const icon of listOf(groups['other'])) addIcon(list, 'icon', icon)
}

function addIcon(list: TagList, rel: string, icon: unknown): void {
  if (!isRecord(icon)) {
    list.link(rel, icon)
    return
  }
  const { url, type, sizes, color, media, fetchPriority } = icon
  list.link(String(icon['rel'] ?? rel), url, { type, sizes, color, media, fetchPriority })
}

/** Viewport of a page whose site says nothing. */
export const defaultViewport: MetadataExport = { width: 'device-width', initialScale: 1 }

const viewportFields = [
  ...['width', 'height', 'initialScale', 'minimumScale', 'maximumScale'],
  ...['viewportFit', 'userScalable', 'interactiveWidget'],
]

/** Renders a merged `viewport` to its tags: viewport, theme-color, color-scheme. */
function viewportTags(viewport: MetadataExport): readonly HeadTag[] {
  const list = new TagList()
  const parts = viewportFields.filter((field) => viewport[field] !== undefined && viewport[field] !== null)
  list.name('viewport', parts.map((field) => `${separated(field, '-')}=${contentOf(viewport[field])}`).join(', '))
  const scheme = new TagList()
  scheme.name('color-scheme', viewport['colorScheme'])
  return [...list.tags, ...listOf(viewport['themeColor']).map(themeColor), ...scheme.tags]
}

function contentOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return String(value)
}

function themeColor(color: unknown): HeadTag {
  const { color: content, media } = isRecord(color) ? color : { color, media: undefined }
  const attributes = { name: 'theme-color', content: String(content) }
  return { tag: 'meta', attributes: typeof media === 'string' ? { ...attributes, media } : attributes }
}

/** Renders merged metadata and viewport to the tags of the document's head, charset and viewport first. */
export function headTags(metadata: ResolvedMetadata, viewport: MetadataExport, resolveUrl: ResolveUrl): readonly HeadTag[] {
  const list = new TagList()
  addBasicTags(list, metadata)
  addRobotsTags(list, metadata)
  addAlternateTags(list, metadata, resolveUrl)
  addVendorTags(list, metadata)
  addOpenGraphTags(list, metadata, resolveUrl)
  addTwitterTags(list, metadata, resolveUrl)
  addIconTags(list, metadata)
  return [{ tag: 'meta', attributes: { charSet: 'utf-8' } }, ...viewportTags(viewport), ...list.tags]
}
