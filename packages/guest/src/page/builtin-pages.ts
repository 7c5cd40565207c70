import { jsx } from '../react/react-runtime.ts'

const texts: Readonly<Record<number, string>> = {
  401: 'You are not authorized to access this page.',
  403: 'This page could not be accessed.',
  404: 'This page could not be found.',
}

/** The content inside the layout when the site has no `not-found.*` of its own. */
export function builtinHttpPage(status: 401 | 403 | 404): unknown {
  return [
    jsx('title', { children: `${status}: ${texts[status]}` }),
    jsx('h1', { children: String(status) }),
    jsx('p', { children: texts[status] }),
  ]
}

/** Replaces a part of a page that failed after streaming began, without an `error.*` around it. */
export const builtinErrorPart = '<p role="alert">Something went wrong.</p>'

/** The whole page when nothing of the site could be shown, not even `global-error.*`. The digest is in the site's log. */
export function builtinErrorDocument(digest: string): string {
  const id = digest.replace(/[^0-9A-Za-z_-]/g, '').slice(0, 40)
  return (
    '<!DOCTYPE html><html lang="en"><head><meta charSet="utf-8"/><meta name="viewport" content="width=device-width"/>' +
    '<meta name="robots" content="noindex"/><title>500: Internal Server Error</title></head>' +
    `<body><h1>500</h1><p>Internal Server Error</p><p><small>${id}</small></p></body></html>`
  )
}

/** The document around a page without a root layout. */
export function minimalDocument(children: unknown): unknown {
  return jsx('html', { children: jsx('body', { children }) })
}
