import { cookies } from 'next/headers'
import { type NextRequest, NextResponse } from 'next/server'
import { CART_COOKIE, type Cart, cartLines, cartTotal, formatCart, parseCart, withCount } from '~/lib/cart'
import { findProduct } from '~/lib/products'

interface Change {
  readonly id: string
  /** New number of pieces; undefined: one more than before. */
  readonly count: number | undefined
  /** True if a form in the browser sent it, which expects a page. */
  readonly isForm: boolean
}

function answer(cart: Cart): NextResponse {
  const lines = cartLines(cart)
  const items = lines.map(({ product, count }) => ({ id: product.id, name: product.name, count, price: product.price }))
  return NextResponse.json({ items, total: cartTotal(lines) })
}

function toCount(value: unknown): number | undefined {
  const isGiven = value !== undefined && value !== null && value !== ''
  return isGiven ? Number(value) : undefined
}

async function readChange(request: Request): Promise<Change | undefined> {
  if ((request.headers.get('content-type') ?? '').startsWith('application/json')) {
    const body: unknown = await request.json().catch(() => undefined)
    if (typeof body !== 'object' || body === null || !('id' in body)) return undefined
    return { id: String(body.id), count: toCount('count' in body ? body.count : undefined), isForm: false }
  }
  const form = await request.formData()
  return { id: String(form.get('id')), count: toCount(form.get('count')), isForm: true }
}

export async function GET(): Promise<Response> {
  const store = await cookies()
  return answer(parseCart(store.get(CART_COOKIE)?.value))
}

/** Takes JSON ({"id": "kettle", "count": 2}) and forms; a form goes back to where it came from. */
export async function POST(request: NextRequest): Promise<Response> {
  const change = await readChange(request)
  const isValid = change?.count === undefined || (Number.isInteger(change.count) && change.count >= 0)
  if (change === undefined || findProduct(change.id) === undefined || !isValid) {
    return NextResponse.json({ error: 'id must be a product and count a number of pieces' }, { status: 400 })
  }
  const store = await cookies()
  const cart = parseCart(store.get(CART_COOKIE)?.value)
  const next = withCount(cart, change.id, change.count ?? (cart[change.id] ?? 0) + 1)
  store.set(CART_COOKIE, formatCart(next), { path: '/', httpOnly: true, sameSite: 'lax', maxAge: 60 * 60 * 24 * 30 })
  if (!change.isForm) return answer(next)
  return new Response(null, { status: 303, headers: { location: returnPath(request) } })
}

/** The path of the page that the form was on; never another host. */
function returnPath(request: NextRequest): string {
  const from = request.headers.get('referer')
  return from !== null && URL.canParse(from) ? `/${new URL(from).pathname.replace(/^\/+/, '')}` : '/'
}
