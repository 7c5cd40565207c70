import { CategoryNav } from '~/components/category-nav'
import { ProductGrid } from '~/components/product-grid'
import { products } from '~/lib/products'

export default function Home() {
  return (
    <>
      <h1>Things for the house</h1>
      <CategoryNav path={[]} />
      <ProductGrid products={products} />
    </>
  )
}
