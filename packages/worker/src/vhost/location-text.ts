import type { LocationMatch } from '@svc/vhosts'

/** The match of a location as its vhost file writes it. */
export function locationText(match: LocationMatch): string {
  switch (match.kind) {
    case 'exact':
      return utf8(`= ${match.path}`)
    case 'prefix':
      return utf8(match.isFirst ? `^~ ${match.path}` : match.path)
    case 'pattern':
      return utf8(`~ ${match.pattern.source}`)
    case 'named':
      return `@${utf8(match.name)}`
  }
}

/** Texts of vhost files have one character for each byte. */
export function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
