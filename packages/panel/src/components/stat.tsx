import type { ComponentChildren } from 'preact'
import type { Unit } from '../format/quantity.ts'
import { Quantity } from './quantity.tsx'

interface StatProps {
  readonly label: string
  readonly value: number | null | undefined
  readonly unit: Unit
  /** A line below the figure. */
  readonly children?: ComponentChildren
}

/** A figure with its name. Stats stand in a `StatList`. */
export function Stat({ label, value, unit, children }: StatProps) {
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd>
        <Quantity value={value} unit={unit} />
        {children !== undefined && <small>{children}</small>}
      </dd>
    </div>
  )
}

export function StatList({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <dl class="stats" aria-label={label}>
      {children}
    </dl>
  )
}
