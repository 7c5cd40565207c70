import { isRecord } from './merge-metadata.ts'
import { listOf, type MetadataExport, type ResolvedMetadata, type ResolveUrl, type TagList } from './tag-list.ts'

/** Adds `og:*` and the properties of the Open Graph type. Title and description fall back to those of the page. */
export function addOpenGraphTags(list: TagList, metadata: ResolvedMetadata, resolveUrl: ResolveUrl): void {
  const graph = metadata.openGraph
  if (graph === null) return
  list.property('og:determiner', graph['determiner'])
  list.property('og:title', titleText(graph['title']) ?? metadata.title?.absolute)
  list.property('og:description', graph['description'] ?? metadata['description'])
  if (graph['url'] !== undefined && graph['url'] !== null) list.property('og:url', resolveUrl(graph['url']))
  list.property('og:site_name', graph['siteName'])
  list.property('og:locale', graph['locale'])
  list.property('og:country_name', graph['countryName'])
  list.property('og:ttl', graph['ttl'])
  for (const image of listOf(graph['images'])) addMedia(list, 'og:image', image, resolveUrl)
  for (const video of listOf(graph['videos'])) addMedia(list, 'og:video', video, resolveUrl)
  for (const audio of listOf(graph['audio'])) addMedia(list, 'og:audio', audio, resolveUrl)
  for (const [field, property] of contacts) {
    for (const value of listOf(graph[field])) list.property(property, value)
  }
  addTypeTags(list, graph)
}

const contacts: readonly (readonly [string, string])[] = [
  ['emails', 'og:email'],
  ['phoneNumbers', 'og:phone_number'],
  ['faxNumbers', 'og:fax_number'],
  ['alternateLocale', 'og:locale:alternate'],
]

function addMedia(list: TagList, property: string, media: unknown, resolveUrl: ResolveUrl): void {
  if (!isRecord(media)) {
    list.property(property, resolveUrl(media))
    return
  }
  list.property(property, resolveUrl(media['url']))
  if (media['secureUrl'] !== undefined) list.property(`${property}:secure_url`, resolveUrl(media['secureUrl']))
  for (const key of ['type', 'width', 'height', 'alt']) list.property(`${property}:${key}`, media[key])
}

/** Properties of each Open Graph type: field of the metadata -> property. */
const typeProperties: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  article: [
    ['publishedTime', 'article:published_time'],
    ['modifiedTime', 'article:modified_time'],
    ['expirationTime', 'article:expiration_time'],
    ['authors', 'article:author'],
    ['section', 'article:section'],
    ['tags', 'article:tag'],
  ],
  book: [
    ['isbn', 'book:isbn'],
    ['releaseDate', 'book:release_date'],
    ['authors', 'book:author'],
    ['tags', 'book:tag'],
  ],
  profile: [
    ['firstName', 'profile:first_name'],
    ['lastName', 'profile:last_name'],
    ['username', 'profile:username'],
    ['gender', 'profile:gender'],
  ],
  'music.song': [
    ['duration', 'music:duration'],
    ['albums', 'music:album'],
    ['musicians', 'music:musician'],
  ],
  'music.album': [
    ['songs', 'music:song'],
    ['musicians', 'music:musician'],
    ['releaseDate', 'music:release_date'],
  ],
  'music.playlist': [
    ['songs', 'music:song'],
    ['creators', 'music:creator'],
  ],
  'music.radio_station': [['creators', 'music:creator']],
  'video.movie': [
    ['actors', 'video:actor'],
    ['directors', 'video:director'],
    ['writers', 'video:writer'],
    ['duration', 'video:duration'],
    ['releaseDate', 'video:release_date'],
    ['tags', 'video:tag'],
    ['series', 'video:series'],
  ],
}

function addTypeTags(list: TagList, graph: MetadataExport): void {
  const type = graph['type']
  if (typeof type !== 'string') return
  list.property('og:type', type)
  const known = type === 'video.episode' ? 'video.movie' : type
  for (const [field, property] of (Object.hasOwn(typeProperties, known) && typeProperties[known]) || []) {
    for (const value of listOf(graph[field])) list.property(property, isRecord(value) ? value['url'] : value)
  }
}

/** Adds `twitter:*`. What it lacks is taken from Open Graph, then from title and description of the page. */
export function addTwitterTags(list: TagList, metadata: ResolvedMetadata, resolveUrl: ResolveUrl): void {
  const { twitter, openGraph: graph } = metadata
  if (twitter === null && graph === null) return
  const card = twitter ?? {}
  const images = listOf(card['images'] ?? (graph === null ? undefined : graph['images']))
  list.name('twitter:card', card['card'] ?? (images.length > 0 ? 'summary_large_image' : 'summary'))
  list.name('twitter:site', card['site'])
  list.name('twitter:site:id', card['siteId'])
  list.name('twitter:creator', card['creator'])
  list.name('twitter:creator:id', card['creatorId'])
  list.name('twitter:title', titleText(card['title']) ?? titleText(graph?.['title']) ?? metadata.title?.absolute)
  list.name('twitter:description', card['description'] ?? graph?.['description'] ?? metadata['description'])
  for (const image of images) {
    const fields = isRecord(image) ? image : { url: image }
    list.name('twitter:image', resolveUrl(fields['url']))
    for (const key of ['type', 'width', 'height', 'alt']) list.name(`twitter:image:${key}`, fields[key])
  }
  addPlayersAndApp(list, card, resolveUrl)
}

function addPlayersAndApp(list: TagList, card: MetadataExport, resolveUrl: ResolveUrl): void {
  for (const player of listOf(card['players'])) {
    if (!isRecord(player)) continue
    list.name('twitter:player', resolveUrl(player['playerUrl']))
    list.name('twitter:player:stream', resolveUrl(player['streamUrl']))
    list.name('twitter:player:width', player['width'])
    list.name('twitter:player:height', player['height'])
  }
  const app = card['app']
  if (!isRecord(app)) return
  for (const platform of ['iphone', 'ipad', 'googleplay']) {
    list.name(`twitter:app:name:${platform}`, app['name'])
    if (isRecord(app['id'])) list.name(`twitter:app:id:${platform}`, app['id'][platform])
    if (isRecord(app['url'])) list.name(`twitter:app:url:${platform}`, app['url'][platform])
  }
}

function titleText(title: unknown): string | undefined {
  if (typeof title === 'string') return title
  return isRecord(title) && typeof title['absolute'] === 'string' ? title['absolute'] : undefined
}
