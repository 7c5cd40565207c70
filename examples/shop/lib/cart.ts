import { findProduct, type Product } from './products'

/** Name of the cookie that holds the cart. */
export const CART_COOKIE = 'cart'
const MAX_COUNT = 20

/** Number of pieces by product id. */
export type Cart = Readonly<Record<string, number>>

/** Reads the cookie: "kettle:2,lamp:1". What is not understood is left out. */
export function parseCart(text: string | undefined): Cart {
  const cart: Record<string, number> = {}
  for (const entry of (text ?? '').split(',')) {
    const [id = '', amount = ''] = entry.split(':')
    const count = Number(amount)
    if (findProduct(id) !== undefined && Number.isInteger(count) && count > 0) cart[id] = Math.min(count, MAX_COUNT)
  }
  return cart
}

export function formatCart(cart: Cart): string {
  return Object.entries(cart)
    .map(([id, count]) => `${id}:${count}`)
    .join(',')
}

/** The cart with this number of pieces of a product; none takes it out. */
export function withCount(cart: Cart, id: string, count: number): Cart {
  const { [id]: _old, ...others } = cart
  return count > 0 ? { ...others, [id]: Math.min(count, MAX_COUNT) } : others
}

export interface CartLine {
  readonly product: Product
  readonly count: number
}

export function cartLines(cart: Cart): readonly CartLine[] {
  return Object.entries(cart).flatMap(([id, count]) => {
    const product = findProduct(id)
    return product === undefined ? [] : [{ product, count }]
  })
}

/** In cents. */
export function cartTotal(lines: readonly CartLine[]): number {
  return lines.reduce((sum, { product, count }) => sum + product.price * count, 0)
}
