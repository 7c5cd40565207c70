/** A set of UTF-16 code units, as inclusive ranges. */
export interface CharSet {
  readonly ranges: readonly (readonly [from: number, to: number])[]
  readonly isNegated: boolean
}

/** A parsed regular expression without captures: only whether it matches counts. */
export type Syntax =
  | { readonly kind: 'empty' }
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'sequence'; readonly items: readonly Syntax[] }
  | { readonly kind: 'choice'; readonly options: readonly Syntax[] }
  /** `max` undefined: without bound. */
  | { readonly kind: 'repeat'; readonly item: Syntax; readonly min: number; readonly max: number | undefined }
  | { readonly kind: 'lookahead'; readonly item: Syntax; readonly isNegated: boolean }
  | { readonly kind: 'start' }
  | { readonly kind: 'end' }

/** Matches one text literally. */
export function literal(text: string): Syntax {
  const items: Syntax[] = []
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    items.push({ kind: 'set', set: { ranges: [[code, code]], isNegated: false } })
  }
  return { kind: 'sequence', items }
}

/** Matches the items one after the other. */
export function sequence(...items: Syntax[]): Syntax {
  return { kind: 'sequence', items }
}

/** Matches the item or nothing. */
export function optional(item: Syntax): Syntax {
  return { kind: 'repeat', item, min: 0, max: 1 }
}
