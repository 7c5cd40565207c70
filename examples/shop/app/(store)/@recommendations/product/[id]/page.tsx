import type { PageProps } from 'next'
import { ProductLinks } from '~/components/product-links'
import { findProduct, similarProducts } from '~/lib/products'

/** The slot's page for a product stands beside the main page of the same URL. */
export default async function SimilarProducts({ params }: PageProps<{ id: string }>) {
  const { id } = await params
  const product = findProduct(id)
  if (product === undefined) return null
  return <ProductLinks title="Goes well with it" products={similarProducts(product).slice(0, 3)} />
}
