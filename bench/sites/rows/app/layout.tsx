import type { ReactNode } from 'react'

export const metadata = { title: 'Rows', description: 'A list of rows.' }

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <header>
          <h1>Rows</h1>
        </header>
        <main>{children}</main>
      </body>
    </html>
  )
}
