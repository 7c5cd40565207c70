import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  /** Undefined: the user cannot close it. */
  readonly onClose?: (() => void) | undefined
  readonly class?: string
  readonly children: ComponentChildren
}

/** A dialog over the page, open while it is drawn. The browser keeps the focus in it, and gives it back afterwards. */
export function Dialog({ title, onClose, class: className = '', children }: DialogProps) {
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const cancel = (event: Event) => {
    event.preventDefault()
    onClose?.()
  }
  return (
    <dialog ref={ref} class={`dialog ${className}`} aria-labelledby={id} onCancel={cancel}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
