import Link from 'next/link'
import { type Product, price } from '~/lib/products'
import { Picture } from './picture'

export function ProductGrid({ products }: { products: readonly Product[] }) {
  return (
    <ul className="grid">
      {products.map((product) => (
        <li key={product.id}>
          <Link className="card" href={`/product/${product.id}`}>
            <Picture product={product} />
            <strong>{product.name}</strong>
            <span className="quiet">{price(product.price)}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
