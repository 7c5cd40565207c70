import type { VhostFacts } from '@svc/admin'
import type { ContentSpec, LocationMatch, ServerNameSpec, WebSpec } from '@svc/vhosts'

/** The servers of vhost files as endpoints list them. */
export function vhostFacts({ servers }: WebSpec): readonly VhostFacts[] {
  return servers.map(({ site, place, listen, names, locations, fallback }) => ({
    site,
    place,
    listen: listen.map(({ address }) => address),
    default_for: listen.filter(({ isDefault }) => isDefault).map(({ address }) => address),
    names: names.map(nameOf),
    locations: [
      ...locations.map((location) => ({
        ...whatAnswers(location.content),
        match: matchOf(location.match),
        place: location.place,
      })),
      { ...whatAnswers(fallback.content), match: '', place },
    ],
  }))
}

function nameOf(spec: ServerNameSpec): string {
  return text(spec.kind === 'name' ? spec.name : `~${spec.pattern.source}`)
}

function matchOf(match: LocationMatch): string {
  switch (match.kind) {
    case 'exact':
      return text(`= ${match.path}`)
    case 'prefix':
      return text(match.isFirst ? `^~ ${match.path}` : match.path)
    case 'pattern':
      return text(`~ ${match.pattern.source}`)
    case 'named':
      return `@${text(match.name)}`
  }
}

function whatAnswers(content: ContentSpec): { readonly content: string; readonly target: string } {
  switch (content.kind) {
    case 'files':
      return { content: 'files', target: '' }
    case 'app':
      return { content: 'app', target: content.site }
    case 'proxy':
    case 'fastcgi':
      return { content: content.kind, target: content.target.kind === 'fixed' ? content.target.upstream : 'computed' }
  }
}

/** Texts of vhost files have one character for each byte. */
function text(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
