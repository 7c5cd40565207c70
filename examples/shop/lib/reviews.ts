/** Stands for a slow service elsewhere: waits, then answers. */
function later<T>(delayMs: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), delayMs))
}

export interface Review {
  readonly author: string
  readonly stars: number
  readonly text: string
}

const texts = ['Exactly what I was looking for.', 'Better than the last three I had.', 'Came well packed, works as described.']
const authors = ['Ada', 'Brook', 'Chidi', 'Dana', 'Emre']

export function loadStock(productId: string): Promise<number> {
  return later(60, (productId.length * 7) % 12)
}

export function loadReviews(productId: string): Promise<readonly Review[]> {
  const seed = productId.length
  const reviews = texts.map((text, i) => ({
    author: authors[(seed + i) % authors.length] ?? 'Ada',
    stars: 5 - ((seed + i) % 3),
    text,
  }))
  return later(250, reviews)
}
