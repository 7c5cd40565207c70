import { element } from './element.ts'

/** Props of a script: those of `<script>`, and Next's own. */
interface ScriptProps {
  readonly src?: string
  readonly strategy?: 'beforeInteractive' | 'afterInteractive' | 'lazyOnload' | 'worker'
  readonly children?: unknown
  readonly dangerouslySetInnerHTML?: { readonly __html: string }
  readonly onLoad?: unknown
  readonly onReady?: unknown
  readonly onError?: unknown
  readonly stylesheets?: unknown
  readonly [attribute: string]: unknown
}

/** How a script with `src` is loaded. Inline scripts run where they stand. */
const loadingOf = {
  beforeInteractive: {},
  afterInteractive: { defer: true },
  worker: { defer: true },
  lazyOnload: { async: true, fetchPriority: 'low' },
} as const

/** A plain `<script>`. */
export function Script(props: ScriptProps): unknown {
  const {
    src,
    strategy = 'afterInteractive',
    children,
    dangerouslySetInnerHTML,
    onLoad,
    onReady,
    onError,
    stylesheets,
    ...rest
  } = props
  if (src !== undefined) return element('script', { ...rest, src, ...(loadingOf[strategy] ?? loadingOf.afterInteractive) })
  const html = dangerouslySetInnerHTML?.__html ?? (Array.isArray(children) ? children.join('') : String(children ?? ''))
  return element('script', { ...rest, dangerouslySetInnerHTML: { __html: html } })
}
