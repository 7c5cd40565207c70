import type { LayoutProps } from 'next'

/** Pages of words: one narrow column and no cart. */
export default function InfoLayout({ children }: LayoutProps) {
  return <main className="words">{children}</main>
}
