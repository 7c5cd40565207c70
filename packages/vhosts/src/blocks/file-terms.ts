import { isDeepStrictEqual } from 'node:util'
import * as answers from '../directives/file-answers.ts'
import * as filter from '../directives/sub-filter.ts'
import type { FileTerms, PrecompressedSpec, SubFilterSpec } from '../spec/spec.ts'
import { gzipTerms } from './gzip-terms.ts'
import type { Level } from './level.ts'

const USUAL: FileTerms = {
  hasEtag: true,
  ifModifiedSince: 'exact',
  maxRanges: undefined,
  precompressed: undefined,
  listing: undefined,
  hasRandomIndex: false,
}

function listingOf(level: Level): FileTerms['listing'] {
  if (level.value(answers.autoindex) !== true) return undefined
  return {
    format: level.value(answers.autoindexFormat) ?? 'html',
    hasExactSize: level.value(answers.autoindexExactSize) ?? true,
    isLocalTime: level.value(answers.autoindexLocaltime) ?? false,
  }
}

function precompressedOf(level: Level): PrecompressedSpec | undefined {
  const written = [
    ['br', level.value(answers.brotliStatic)],
    ['gzip', level.value(answers.gzipStatic)],
  ] as const
  const forms = written.flatMap(([coding, value]) =>
    value === undefined || value === 'off' ? [] : [{ coding, isAlways: value === 'always' }],
  )
  return forms.length === 0 ? undefined : { forms, terms: gzipTerms(level) }
}

const RULES = [
  answers.etag,
  answers.ifModifiedSince,
  answers.maxRanges,
  answers.brotliStatic,
  answers.gzipStatic,
  answers.autoindex,
  answers.randomIndex,
]

/** How the files of a level are answered. undefined: as usual. */
export function fileTermsOf(level: Level): FileTerms | undefined {
  if (!RULES.some((rule) => level.holder(rule) !== undefined)) return undefined
  const terms: FileTerms = {
    hasEtag: level.value(answers.etag) ?? true,
    ifModifiedSince: level.value(answers.ifModifiedSince) ?? 'exact',
    maxRanges: level.value(answers.maxRanges),
    precompressed: precompressedOf(level),
    listing: listingOf(level),
    hasRandomIndex: level.value(answers.randomIndex) ?? false,
  }
  return isDeepStrictEqual(terms, USUAL) ? undefined : terms
}

/** The texts that are replaced in bodies of a level. */
export function subFilterOf(level: Level): SubFilterSpec | undefined {
  const pairs = level.nearest(filter.subFilter)
  if (pairs.length === 0) return undefined
  return {
    pairs,
    types: level.value(filter.subFilterTypes) ?? [],
    isOnce: level.value(filter.subFilterOnce) ?? true,
    keepsLastModified: level.value(filter.subFilterLastModified) ?? false,
  }
}
