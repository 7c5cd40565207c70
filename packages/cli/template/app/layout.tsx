import './globals.css'
import type { ReactNode } from 'react'

export const metadata = {
  title: { default: '__NAME__', template: '%s – __NAME__' },
  description: 'A site made of files.',
}

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <header>
          <a href="/">
            <img src="/logo.svg" alt="" width={32} height={32} />
            __NAME__
          </a>
        </header>
        <main>{children}</main>
        <footer>
          Rendered on the server. Edit <code>app/page.tsx</code> and reload.
        </footer>
      </body>
    </html>
  )
}
