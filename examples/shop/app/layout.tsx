import type { LayoutProps, Metadata } from 'next'
import Image from 'next/image'
import Link from 'next/link'
import './globals.css'

export const metadata: Metadata = {
  title: { default: 'Cup & Lamp', template: '%s – Cup & Lamp' },
  description: 'Eight things for the house. An example shop.',
  icons: '/logo.svg',
}

export default function RootLayout({ children }: LayoutProps) {
  return (
    <html lang="en">
      <body>
        <header className="bar">
          <Link className="brand" href="/">
            <Image src="/logo.svg" alt="" width={28} height={28} priority />
            Cup &amp; Lamp
          </Link>
          <form action="/search">
            <input type="search" name="q" aria-label="Search" placeholder="Search" />
          </form>
          <nav aria-label="Main">
            <Link href="/catalogue">Catalogue</Link>
            <Link href="/shipping">Shipping</Link>
          </nav>
        </header>
        {children}
        <footer className="foot quiet">An example shop: nothing is sold, nothing is sent.</footer>
      </body>
    </html>
  )
}
