import type { Metadata, PageProps } from 'next'
import { notFound } from 'next/navigation'
import { CategoryNav } from '~/components/category-nav'
import { ProductGrid } from '~/components/product-grid'
import { productsIn } from '~/lib/products'

type Props = PageProps<{ path: string[] }>

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { path } = await params
  return { title: path.join(', ') }
}

/** Any depth: /category/kitchen and /category/kitchen/tea are this page. */
export default async function CategoryPage({ params }: Props) {
  const { path } = await params
  const products = productsIn(path)
  if (products.length === 0) notFound()
  return (
    <>
      <h1>{path.join(' / ')}</h1>
      <CategoryNav path={path} />
      <ProductGrid products={products} />
    </>
  )
}
