import { useState } from 'preact/hooks'
import { useMayChange } from '../data/services.ts'
import type { Role } from '../data/session.ts'
import { type Action, ActionDialog } from './action-dialog.tsx'

interface ActionButtonProps {
  readonly action: Action
  /** Users below this role do not see it. */
  readonly needs: Role
  /** Called when the action was carried out. */
  readonly onDone?: () => void
}

/** A button for an action, absent for users who may not take it. */
export function ActionButton({ action, needs, onDone }: ActionButtonProps) {
  const mayChange = useMayChange(needs)
  const [isOpen, setIsOpen] = useState(false)
  if (!mayChange) return null
  const close = (isDone: boolean) => {
    setIsOpen(false)
    if (isDone) onDone?.()
  }
  return (
    <>
      <button type="button" class={action.isDestructive ? 'destructive' : undefined} onClick={() => setIsOpen(true)}>
        {action.label}
      </button>
      {isOpen && <ActionDialog action={action} onClose={close} />}
    </>
  )
}
