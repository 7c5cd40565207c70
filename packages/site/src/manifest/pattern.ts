import type { PatternSegment, RouteParams } from './manifest.ts'

/** Spells one segment as a directory would. */
export function spellSegment(segment: PatternSegment): string {
  switch (segment.kind) {
    case 'static':
      return segment.value
    case 'dynamic':
      return `[${segment.name}]`
    case 'catch-all':
      return `[...${segment.name}]`
    case 'optional-catch-all':
      return `[[...${segment.name}]]`
  }
}

/** Spells a pattern: "/blog/[slug]", or "/" without segments. */
export function spellPattern(segments: readonly PatternSegment[]): string {
  return `/${segments.map(spellSegment).join('/')}`
}

/** The pattern without the names of its parameters: two routes with one shape answer the same URLs. */
export function shapeOf(segments: readonly PatternSegment[]): string {
  return spellPattern(segments.map((segment) => (segment.kind === 'static' ? segment : { kind: segment.kind, name: '' })))
}

/** Returns true if a pattern has no parameters. */
export function isStaticPattern(segments: readonly PatternSegment[]): boolean {
  return segments.every((segment) => segment.kind === 'static')
}

/**
 * Writes the URL path of a pattern with these parameters, percent-encoded. Works on the text of a pattern
 * (`Route.pattern`, `MetadataFile.pattern`). A parameter that is missing is left out.
 */
export function fillPattern(pattern: string, params: RouteParams): string {
  const parts: string[] = []
  for (const text of pattern.split('/')) {
    if (text === '') continue
    if (!text.startsWith('[')) parts.push(encodeURIComponent(text))
    else {
      const value = params[text.replace(/^\[{1,2}(?:\.{3})?/, '').replace(/\]{1,2}$/, '')] ?? []
      for (const item of typeof value === 'string' ? [value] : value) parts.push(encodeURIComponent(item))
    }
  }
  return `/${parts.join('/')}`
}
