import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../data/api.ts'
import { useServices } from '../data/services.ts'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'
import { Skeleton } from './skeleton.tsx'

/** An operation that changes something. */
export interface Action {
  /** The words of its button: a verb and its object. */
  readonly label: string
  /** Its effect, and on how much: a sentence, or a way to find it out. */
  readonly effect: string | (() => Promise<string>)
  /** True: it takes something away. */
  readonly isDestructive?: boolean
  /** Does it; `progress` shows how far it is. Resolves with its result in a sentence. */
  run(progress: (text: string) => void): Promise<string>
}

type Phase =
  | { readonly kind: 'asking' }
  | { readonly kind: 'running'; readonly progress: string }
  | { readonly kind: 'done'; readonly result: string }
  | { readonly kind: 'failed'; readonly error: ApiError }

/** The effect of an action, or why it is unknown; undefined while that is on its way. */
function useEffectText(effect: Action['effect']): string | ApiError | undefined {
  const [text, setText] = useState<string | ApiError | undefined>(typeof effect === 'string' ? effect : undefined)
  const isDrawn = useRef(true)
  useEffect(() => {
    isDrawn.current = true
    if (typeof effect !== 'string') {
      effect().then(
        (found) => isDrawn.current && setText(found),
        (error) => {
          if (!(error instanceof ApiError)) throw error
          if (isDrawn.current) setText(error)
        },
      )
    }
    return () => {
      isDrawn.current = false
    }
  }, [])
  return text
}

/** The effect in a sentence. An action can be taken though its extent is unknown: the server says then if it fails. */
function Effect({ effect }: { readonly effect: string | ApiError | undefined }) {
  if (effect === undefined) return <Skeleton rows={1} label="Finding out the effect" />
  if (effect instanceof ApiError) return <Failure doing="find out the effect" error={effect} />
  return <p>{effect}</p>
}

interface ActionDialogProps {
  readonly action: Action
  /** Called at the end; `isDone`: the action was carried out. */
  readonly onClose: (isDone: boolean) => void
}

/** Names the effect of an action, asks once, and shows progress and result. */
export function ActionDialog({ action, onClose }: ActionDialogProps) {
  const { announcement } = useServices()
  const [phase, setPhase] = useState<Phase>({ kind: 'asking' })
  const effect = useEffectText(action.effect)
  const start = async () => {
    setPhase({ kind: 'running', progress: 'In progress' })
    try {
      const result = await action.run((progress) => setPhase({ kind: 'running', progress }))
      setPhase({ kind: 'done', result })
      announcement.set(result)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      setPhase({ kind: 'failed', error })
    }
  }
  // A running action goes on without its dialog, and its result would be lost.
  const close = phase.kind === 'running' ? undefined : () => onClose(phase.kind === 'done')
  return (
    <Dialog title={action.label} onClose={close}>
      <Effect effect={effect} />
      {phase.kind === 'running' && (
        <>
          <progress aria-label={action.label} />
          <p role="status">{phase.progress}</p>
        </>
      )}
      {phase.kind === 'done' && (
        <p class="result" role="status">
          {phase.result}
        </p>
      )}
      {phase.kind === 'failed' && <Failure doing={lowerFirst(action.label)} error={phase.error} />}
      <div class="buttons">
        {phase.kind === 'asking' || phase.kind === 'failed' ? (
          <>
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button
              type="button"
              class={action.isDestructive ? 'destructive' : 'primary'}
              disabled={effect === undefined}
              onClick={() => void start()}
            >
              {phase.kind === 'failed' ? 'Try again' : action.label}
            </button>
          </>
        ) : (
          <button type="button" disabled={close === undefined} onClick={close}>
            Close
          </button>
        )}
      </div>
    </Dialog>
  )
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
