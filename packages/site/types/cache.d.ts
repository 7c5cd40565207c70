/** `svc/cache` and `next/cache`. */

/** Drops everything of this site that carries the tag, before the answer of this request goes out. Not while a page is rendered. */
export declare function revalidateTag(tag: string): void
/** Drops the page of a path ("/blog/hello") or, with a type, of a pattern ("/blog/[slug]"); "layout": with all below it. */
export declare function revalidatePath(path: string, type?: 'page' | 'layout'): void

/** How long a result is kept and what drops it. */
export interface UnstableCacheOptions {
  readonly tags?: readonly string[]
  /** Seconds; false: until it is dropped. */
  readonly revalidate?: number | false
}

/** Keeps the results of a function under its arguments and `keyParts`. */
export declare function unstable_cache<F extends (...args: never[]) => Promise<unknown>>(
  fn: F,
  keyParts?: readonly string[],
  options?: UnstableCacheOptions,
): F
/** The page that calls it is not cached. */
export declare function unstable_noStore(): void
