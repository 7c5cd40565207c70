import type { Product } from '~/lib/products'

/** A drawn stand-in for a photograph. */
export function Picture({ product }: { product: Product }) {
  const size = 30 + ((product.id.length * 13) % 20)
  return (
    <svg className="picture" viewBox="0 0 160 110" role="img" aria-label={product.name}>
      <rect width="160" height="110" fill={product.colour} opacity="0.18" />
      <ellipse cx="80" cy="92" rx={size + 8} ry="6" fill={product.colour} opacity="0.3" />
      <rect x={80 - size / 2} y={92 - size * 1.3} width={size} height={size * 1.3} rx={size / 4} fill={product.colour} />
      <circle cx="80" cy={90 - size * 1.3} r={size / 6} fill={product.colour} />
    </svg>
  )
}
