import Link from 'next/link'
import type { Product } from '~/lib/products'

/** A titled list of links for the side of the store. */
export function ProductLinks({ title, products }: { title: string; products: readonly Product[] }) {
  return (
    <section className="panel">
      <h2>{title}</h2>
      <ul className="lines">
        {products.map((product) => (
          <li key={product.id}>
            <Link href={`/product/${product.id}`}>{product.name}</Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
