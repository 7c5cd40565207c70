import { StandardURL } from './standard-classes.ts'

/** What an observed `NextURL` reports when site code reads a part of it. */
type NoteRead = (read: 'query' | 'host') => void

/** A URL as `request.nextUrl` has it: a URL with `clone()` and an empty `basePath` and `locale`. */
export class NextURL extends StandardURL {
  get basePath(): string {
    return ''
  }

  get locale(): string {
    return ''
  }

  get buildId(): undefined {
    return undefined
  }

  /** A copy to change and to redirect or rewrite to. What is read of the copy is not reported: only its making is. */
  clone(): NextURL {
    return new NextURL(this.href)
  }
}

/** What each part of a URL says of the request. The path is not among them: an answer always depends on it. */
const observed = {
  search: ['query'],
  searchParams: ['query'],
  host: ['host'],
  hostname: ['host'],
  port: ['host'],
  origin: ['host'],
  protocol: ['host'],
  href: ['host', 'query'],
  toString: ['host', 'query'],
  toJSON: ['host', 'query'],
} as const satisfies Readonly<Record<string, readonly ('query' | 'host')[]>>

/** Makes a `NextURL` that reports what is read of it, and that can be changed like any other. */
export function observedUrl(text: string, note: NoteRead): NextURL {
  const url = new NextURL(text)
  for (const [name, reads] of Object.entries(observed)) {
    Object.defineProperty(url, name, {
      configurable: true,
      get: () => {
        for (const read of reads) note(read)
        return Reflect.get(NextURL.prototype, name, url)
      },
      set: (value: unknown) => Reflect.set(NextURL.prototype, name, value, url),
    })
  }
  return url
}
