import type { Metadata, PageProps } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { Suspense } from 'react'
import { AddToCart } from '~/components/add-to-cart'
import { Picture } from '~/components/picture'
import { findProduct, price } from '~/lib/products'
import { loadReviews, loadStock } from '~/lib/reviews'

type Props = PageProps<{ id: string }>

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { id } = await params
  const product = findProduct(id)
  return { title: product?.name ?? 'Not found', ...(product === undefined ? {} : { description: product.about }) }
}

async function Stock({ id }: { id: string }) {
  const count = await loadStock(id)
  return <p className="quiet">{count === 0 ? 'Sold out, back next week.' : `${count} in stock.`}</p>
}

async function Reviews({ id }: { id: string }) {
  const reviews = await loadReviews(id)
  return (
    <ul className="reviews">
      {reviews.map((review) => (
        <li key={review.author}>
          <strong>{review.author}</strong> <span className="stars">{'★'.repeat(review.stars)}</span>
          <p>{review.text}</p>
        </li>
      ))}
    </ul>
  )
}

/** The product is in the first bytes; stock and reviews follow in the same response as they arrive. */
export default async function ProductPage({ params }: Props) {
  const { id } = await params
  const product = findProduct(id) ?? notFound()
  return (
    <article className="product">
      <Picture product={product} />
      <div>
        <p className="chips">
          {product.category.map((name, depth) => (
            <Link key={name} className="chip" href={`/category/${product.category.slice(0, depth + 1).join('/')}`}>
              {name}
            </Link>
          ))}
        </p>
        <h1>{product.name}</h1>
        <p>{product.about}</p>
        <p className="price">{price(product.price)}</p>
        <Suspense fallback={<p className="quiet">Looking in the store room…</p>}>
          <Stock id={product.id} />
        </Suspense>
        <AddToCart productId={product.id} />
      </div>
      <section className="wide">
        <h2>What others say</h2>
        <Suspense fallback={<p className="quiet">Reviews are on their way…</p>}>
          <Reviews id={product.id} />
        </Suspense>
      </section>
    </article>
  )
}
