import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface SectionProps {
  readonly title: string
  /** Filters and actions beside the title. */
  readonly tools?: ComponentChildren
  readonly children: ComponentChildren
}

/** A titled part of a page. */
export function Section({ title, tools, children }: SectionProps) {
  const id = useId()
  return (
    <section class="section" aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        {tools !== undefined && <div class="tools">{tools}</div>}
      </div>
      {children}
    </section>
  )
}
