import { type MiddlewareConfig, type NextRequest, NextResponse } from 'next/server'

/** Everything but the API and files with an extension. */
export const config: MiddlewareConfig = { matcher: ['/((?!api/|.*\\.).*)'] }

export function middleware(request: NextRequest): NextResponse {
  const { pathname } = request.nextUrl
  if (pathname.startsWith('/products/')) {
    const url = request.nextUrl.clone()
    url.pathname = pathname.replace('/products/', '/product/')
    return NextResponse.redirect(url, 308)
  }
  return NextResponse.next({ headers: { 'x-shop': 'cup-and-lamp' } })
}
