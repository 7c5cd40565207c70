import type { LayoutProps, Params } from 'next'

/** The store has a side with two parallel slots; the pages in (info) have not. */
export default function StoreLayout({ children, cart, recommendations }: LayoutProps<Params, 'cart' | 'recommendations'>) {
  return (
    <div className="store">
      <main>{children}</main>
      <aside className="side">
        {cart}
        {recommendations}
      </aside>
    </div>
  )
}
