import type { LayoutProps, Metadata, Viewport } from 'svc'
import Link from 'svc/link'
import { siteDescription, siteName, siteUrl } from '@/lib/site'
import './globals.css'

export const metadata: Metadata = {
  metadataBase: new URL(siteUrl),
  title: { default: siteName, template: `%s · ${siteName}` },
  description: siteDescription,
  alternates: { types: { 'application/rss+xml': '/feed.xml' } },
  openGraph: { siteName, type: 'website' },
}

export const viewport: Viewport = {
  themeColor: [
    { media: '(prefers-color-scheme: light)', color: '#fdfcf9' },
    { media: '(prefers-color-scheme: dark)', color: '#17191d' },
  ],
}

export default function RootLayout({ children }: LayoutProps) {
  return (
    <html lang="en">
      <body>
        <header className="masthead">
          <Link href="/">
            <strong>{siteName}</strong>
          </Link>
          <nav aria-label="Main">
            <Link href="/">Posts</Link>
            <Link href="/about">About</Link>
            <Link href="/feed.xml">Feed</Link>
          </nav>
        </header>
        <main>{children}</main>
        <footer className="colophon">Made of files, rendered on the server.</footer>
      </body>
    </html>
  )
}
