/** `svc/navigation` and `next/navigation`. */

/** How a redirect enters the browser's history; without JavaScript in the browser both are the same. */
export declare const RedirectType: { readonly push: 'push'; readonly replace: 'replace' }
export type RedirectType = 'push' | 'replace'

/** Ends the rendering and answers with status 307. */
export declare function redirect(url: string, type?: RedirectType): never
/** Ends the rendering and answers with status 308. */
export declare function permanentRedirect(url: string, type?: RedirectType): never
/** Ends the rendering of the segment and shows the nearest `not-found` file, status 404. */
export declare function notFound(): never

/** Query parameters that cannot be changed. */
export interface ReadonlyURLSearchParams extends Omit<URLSearchParams, 'append' | 'delete' | 'set' | 'sort'> {}

/** Path of the request. */
export declare function usePathname(): string
/** Query of the request. */
export declare function useSearchParams(): ReadonlyURLSearchParams
/** Parameters of the route. */
export declare function useParams<P = Record<string, string | string[]>>(): P
/** The segment of the route one below the calling layout, or null. */
export declare function useSelectedLayoutSegment(slot?: string): string | null
/** All segments of the route below the calling layout. */
export declare function useSelectedLayoutSegments(slot?: string): string[]
