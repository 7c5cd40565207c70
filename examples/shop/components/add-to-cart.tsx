/** A plain form: it works without any script in the browser. */
export function AddToCart({ productId }: { productId: string }) {
  return (
    <form action="/api/cart" method="post">
      <input type="hidden" name="id" value={productId} />
      <button type="submit">Add to cart</button>
    </form>
  )
}
