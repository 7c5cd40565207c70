/** `svc/link` and `next/link`: a plain `<a>`. */
import type { AnchorHTMLAttributes, ReactElement, Ref } from 'react'

/** A URL in parts. */
export interface UrlObject {
  readonly protocol?: string | null
  readonly hostname?: string | null
  readonly port?: string | number | null
  readonly pathname?: string | null
  readonly query?:
    | string
    | null
    | Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[] | null | undefined>>
  readonly search?: string | null
  readonly hash?: string | null
}

/** Properties of a link; those about navigation in the browser are accepted and have no effect. */
export interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly href: string | URL | UrlObject
  readonly as?: string | UrlObject
  readonly replace?: boolean
  readonly scroll?: boolean
  readonly shallow?: boolean
  readonly passHref?: boolean
  readonly prefetch?: boolean | 'auto' | null
  readonly locale?: string | false
  readonly legacyBehavior?: boolean
  readonly ref?: Ref<HTMLAnchorElement>
}

export default function Link(props: LinkProps): ReactElement
