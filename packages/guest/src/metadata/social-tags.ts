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
  addProperties(list, 'og', graph, 'site_name locale country_name ttl')
  for (const image of listOf(graph['images'])) addMedia(list, 'og:image', image, resolveUrl)
  for (const video of listOf(graph['videos'])) addMedia(list, 'og:video', video, resolveUrl)
  for (const audio of listOf(graph['audio'])) addMedia(list, 'og:audio', audio, resolveUrl)
  addProperties(list, 'og', graph, 'email* phone_number* fax_number*')
  for (const locale of listOf(graph['alternateLocale'])) list.property('og:locale:alternate', locale)
  const { type } = graph
  if (typeof type !== 'string') return
  list.property('og:type', type)
  if (Object.hasOwn(typeProperties, type)) addProperties(list, type.replace(/\..*/, ''), graph, typeProperties[type] ?? '')
}

function addMedia(list: TagList, property: string, media: unknown, resolveUrl: ResolveUrl): void {
  if (!isRecord(media)) {
    list.property(property, resolveUrl(media))
    return
  }
  list.property(property, resolveUrl(media['url']))
  if (media['secureUrl'] !== undefined) list.property(`${property}:secure_url`, resolveUrl(media['secureUrl']))
  for (const key of ['type', 'width', 'height', 'alt']) list.property(`${property}:${key}`, media[key])
}

const ofVideo = 'actor* director* writer* duration release_date tag* series'

/** Properties of each Open Graph type, in the notation of `addProperties`. */
const typeProperties: Readonly<Record<string, string>> = {
  article: 'published_time modified_time expiration_time author* section tag*',
  book: 'isbn release_date author* tag*',
  profile: 'first_name last_name username gender',
  'music.song': 'duration album* musician*',
  'music.album': 'song* musician*',
  'music.playlist': 'song* creator*',
  'music.radio_station': 'creator*',
  'video.movie': ofVideo,
  'video.episode': ofVideo,
}

/** Adds properties. The field of each has its name in camel case; with a star, the plural. A field is one value or a list. */
function addProperties(list: TagList, prefix: string, graph: MetadataExport, names: string): void {
  for (const name of names.split(' ')) {
    const field = name.replace('*', 's').replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    for (const value of listOf(graph[field]))
      list.property(`${prefix}:${name.replace('*', '')}`, prefix !== 'og' && isRecord(value) ? value['url'] : value)
  }
}

/** Adds `twitter:*`. Missing fields are taken from Open Graph, then from title and description of the page. */
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
