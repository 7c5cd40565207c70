import type { ComponentChildren } from 'preact'
import { isForBrowser, navigate } from '../address/router.ts'

interface LinkProps {
  readonly href: string
  readonly children: ComponentChildren
  readonly class?: string | undefined
  readonly isCurrent?: boolean
}

/** A link inside the panel: the page stays, its content changes. */
export function Link({ href, children, class: className, isCurrent = false }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (isForBrowser(event)) return
    event.preventDefault()
    navigate(href)
  }
  return (
    <a href={href} class={className} aria-current={isCurrent ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  )
}
