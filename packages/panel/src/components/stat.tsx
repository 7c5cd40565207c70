import type { ComponentChildren } from 'preact'
import type { Unit } from '../format/quantity.ts'
import { Link } from './link.tsx'
import { Quantity } from './quantity.tsx'

interface StatProps {
  readonly label: string
  readonly value: number | null | undefined
  readonly unit: Unit
  /** Page that tells more. */
  readonly href?: string | undefined
  /** A line below the figure. */
  readonly children?: ComponentChildren
}

/** A figure with its name. Stats stand in a `StatList`. */
export function Stat({ label, value, unit, href, children }: StatProps) {
  const figure = <Quantity value={value} unit={unit} />
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd>
        <span class={value === null || value === undefined ? 'stat-none' : ''}>
          {href === undefined ? figure : <Link href={href}>{figure}</Link>}
        </span>
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
