/** `svc/script` and `next/script`: a `<script>` whose strategy becomes `async`, `defer` or a place. */
import type { ReactElement, ScriptHTMLAttributes } from 'react'

export interface ScriptProps extends ScriptHTMLAttributes<HTMLScriptElement> {
  readonly strategy?: 'beforeInteractive' | 'afterInteractive' | 'lazyOnload' | 'worker'
}

export default function Script(props: ScriptProps): ReactElement
