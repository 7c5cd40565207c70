import { ProductLinks } from '~/components/product-links'
import { products } from '~/lib/products'

/** Shown wherever the slot has no page of its own. */
export default function Recommendations() {
  return <ProductLinks title="Often bought" products={products.slice(0, 3)} />
}
