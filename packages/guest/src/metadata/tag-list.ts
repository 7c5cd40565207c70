import type { HeadTag } from './metadata-types.ts'

/** Collects head tags and leaves out those without a value. */
export class TagList {
  readonly #tags: HeadTag[] = []

  get tags(): readonly HeadTag[] {
    return this.#tags
  }

  title(text: string): void {
    this.#tags.push({ tag: 'title', attributes: {}, text })
  }

  /** `<meta name content>`; nothing for undefined, null and "". */
  name(name: string, content: unknown): void {
    this.#meta('name', name, content)
  }

  /** `<meta property content>`, the form of Open Graph. */
  property(property: string, content: unknown): void {
    this.#meta('property', property, content)
  }

  /** `<link rel href ...>`; nothing without href; attributes without a value are left out. */
  link(rel: string, href: unknown, extra: Readonly<Record<string, unknown>> = {}): void {
    if (isAbsent(href)) return
    const attributes: Record<string, string> = { rel }
    for (const [key, value] of Object.entries({ href, ...extra })) {
      if (!isAbsent(value)) attributes[key] = textOf(value)
    }
    this.#tags.push({ tag: 'link', attributes })
  }

  #meta(key: 'name' | 'property', name: string, content: unknown): void {
    if (isAbsent(content)) return
    this.#tags.push({ tag: 'meta', attributes: { [key]: name, content: textOf(content) } })
  }
}

/** A list from one value, a list, or nothing. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}
