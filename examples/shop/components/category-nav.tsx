import Link from 'next/link'
import { categoriesBelow } from '~/lib/products'

/** Links to the categories one step below a path. */
export function CategoryNav({ path }: { path: readonly string[] }) {
  const names = categoriesBelow(path)
  if (names.length === 0) return null
  return (
    <nav aria-label="Categories" className="chips">
      {names.map((name) => (
        <Link key={name} className="chip" href={`/category/${[...path, name].map(encodeURIComponent).join('/')}`}>
          {name}
        </Link>
      ))}
    </nav>
  )
}
