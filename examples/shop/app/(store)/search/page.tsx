import type { Metadata, PageProps, Params } from 'next'
import { ProductGrid } from '~/components/product-grid'
import { searchProducts } from '~/lib/products'

export const metadata: Metadata = { title: 'Search', robots: { index: false } }

export default async function SearchPage({ searchParams }: PageProps<Params, { q?: string | string[] }>) {
  const { q } = await searchParams
  const words = (Array.isArray(q) ? q.join(' ') : (q ?? '')).trim()
  const found = searchProducts(words)
  return (
    <>
      <h1>{words === '' ? 'Everything' : `“${words}”`}</h1>
      <p className="quiet">{found.length === 1 ? 'One thing' : `${found.length} things`} found.</p>
      <ProductGrid products={found} />
    </>
  )
}
