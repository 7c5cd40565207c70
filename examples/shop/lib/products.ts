import list from './products.json'

export interface Product {
  readonly id: string
  readonly name: string
  /** From the widest to the narrowest. */
  readonly category: readonly string[]
  /** In cents. */
  readonly price: number
  readonly colour: string
  readonly about: string
}

export const products: readonly Product[] = list

export function findProduct(id: string): Product | undefined {
  return products.find((product) => product.id === id)
}

/** Products in a category and everything below it; all of them for an empty path. */
export function productsIn(path: readonly string[]): readonly Product[] {
  return products.filter((product) => path.every((part, depth) => product.category[depth] === part))
}

/** The categories one step below a path. */
export function categoriesBelow(path: readonly string[]): readonly string[] {
  const names = productsIn(path).flatMap((product) => product.category.slice(path.length, path.length + 1))
  return [...new Set(names)]
}

export function searchProducts(words: string): readonly Product[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  return products.filter((product) => {
    const text = `${product.name} ${product.about} ${product.category.join(' ')}`.toLowerCase()
    return wanted.every((word) => text.includes(word))
  })
}

/** Others of the same category first, the rest behind them. */
export function similarProducts(product: Product): readonly Product[] {
  const kinship = (other: Product) => other.category.filter((part, depth) => product.category[depth] === part).length
  return products.filter((other) => other.id !== product.id).sort((left, right) => kinship(right) - kinship(left))
}

/** "€59.00" */
export function price(cents: number): string {
  return new Intl.NumberFormat('en-IE', { style: 'currency', currency: 'EUR' }).format(cents / 100)
}
