import { quantity, type Unit } from '../format/quantity.ts'

/** A figure with its unit; all its digits on hover. */
export function Quantity({ value, unit }: { readonly value: number | null | undefined; readonly unit: Unit }) {
  const { text, exact } = quantity(value, unit)
  return (
    <data class="quantity" value={value ?? ''} title={exact}>
      {text}
    </data>
  )
}
