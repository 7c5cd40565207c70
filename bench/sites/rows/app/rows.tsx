/** The same list for every server that is compared: an item has a link, a name, a text and a number. */
export function Rows({ count }: { count: number }) {
  const items = Array.from({ length: count }, (_, index) => index)
  return (
    <ul>
      {items.map((index) => (
        <li key={index}>
          <a href={`/items/${index}`}>
            <strong>Item {index}</strong> <span>A short description of item {index}</span> <em>{index * 7}</em>
          </a>
        </li>
      ))}
    </ul>
  )
}
