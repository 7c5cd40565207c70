import { cookies } from 'next/headers'
import { CART_COOKIE, cartLines, cartTotal, parseCart } from '~/lib/cart'
import { price } from '~/lib/products'

/** The slot @cart has no pages, so its default is shown everywhere in the store. */
export default async function CartSlot() {
  const store = await cookies()
  const lines = cartLines(parseCart(store.get(CART_COOKIE)?.value))
  return (
    <section aria-labelledby="cart-title" className="panel">
      <h2 id="cart-title">Cart</h2>
      {lines.length === 0 ? (
        <p className="quiet">Nothing yet.</p>
      ) : (
        <>
          <ul className="lines">
            {lines.map(({ product, count }) => (
              <li key={product.id}>
                <span>
                  {count} × {product.name}
                </span>
                <form action="/api/cart" method="post">
                  <input type="hidden" name="id" value={product.id} />
                  <input type="hidden" name="count" value="0" />
                  <button type="submit" className="plain" aria-label={`Remove ${product.name}`}>
                    remove
                  </button>
                </form>
              </li>
            ))}
          </ul>
          <p>
            <strong>{price(cartTotal(lines))}</strong>
          </p>
        </>
      )}
    </section>
  )
}
