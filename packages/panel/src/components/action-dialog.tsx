import { useEffect, useId, useRef, useState } from 'preact/hooks'
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
  /** Asked for before. */
  readonly fields?: readonly ActionField[]
  /** Does it; `progress` shows how far it is. Resolves with its result in a sentence. */
  run(progress: (text: string) => void, values: ActionValues): Promise<string>
  /** Takes it back, once it is done. Resolves with the result in a sentence. */
  readonly undo?: () => Promise<string>
}

/** Values of the fields of an action by name. */
type ActionValues = Readonly<Record<string, string>>

/** Something that an action asks for. */
interface ActionField {
  readonly name: string
  readonly label: string
  /** A choice of these, the first of which is chosen; undefined: a text. */
  readonly choices?: readonly (readonly [value: string, text: string])[]
  /** The text at first. */
  readonly value?: string
  readonly isRequired?: boolean
  readonly maxLength?: number
}

type Phase =
  | { readonly kind: 'asking' }
  | { readonly kind: 'running'; readonly progress: string }
  | { readonly kind: 'done'; readonly result: string; readonly isUndone: boolean }
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
export function ActionDialog({ action: given, onClose }: ActionDialogProps) {
  // The page below may be drawn anew meanwhile, with another action: this one is carried out, and taken back.
  const [action] = useState(given)
  const { announcement } = useServices()
  const form = useRef<HTMLFormElement>(null)
  const [phase, setPhase] = useState<Phase>({ kind: 'asking' })
  const effect = useEffectText(action.effect)
  const values = () =>
    Object.fromEntries(Array.from(new FormData(form.current ?? undefined), ([name, value]) => [name, String(value)]))
  const follow = async (run: () => Promise<string>, isUndone = false) => {
    setPhase({ kind: 'running', progress: 'In progress' })
    try {
      const result = await run()
      setPhase({ kind: 'done', result, isUndone })
      announcement.set(result)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      setPhase({ kind: 'failed', error })
    }
  }
  const start = () => {
    const given = values()
    void follow(() => action.run((progress) => setPhase({ kind: 'running', progress }), given))
  }
  const { undo } = action
  const isAsking = phase.kind === 'asking' || phase.kind === 'failed'
  // A running action goes on without its dialog, and its result would be lost.
  const close = phase.kind === 'running' ? undefined : () => onClose(phase.kind === 'done')
  return (
    <Dialog title={action.label} onClose={close}>
      <form
        ref={form}
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault()
          if (isAsking) start()
        }}
      >
        <Effect effect={effect} />
        {/* They keep what was typed when the action fails. */}
        <div hidden={!isAsking} class="dialog-form">
          {action.fields?.map((field) => (
            <Field key={field.name} field={field} />
          ))}
        </div>
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
          {isAsking ? (
            <>
              <button type="button" onClick={close}>
                Cancel
              </button>
              <button type="submit" class={action.isDestructive ? 'destructive' : 'primary'} disabled={effect === undefined}>
                {phase.kind === 'failed' ? 'Try again' : action.label}
              </button>
            </>
          ) : (
            <>
              {undo !== undefined && phase.kind === 'done' && !phase.isUndone && (
                <button type="button" onClick={() => void follow(undo, true)}>
                  Undo
                </button>
              )}
              <button type="button" disabled={close === undefined} onClick={close}>
                Close
              </button>
            </>
          )}
        </div>
      </form>
    </Dialog>
  )
}

function Field({ field: { name, label, choices, value, isRequired, maxLength } }: { readonly field: ActionField }) {
  const id = useId()
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {choices === undefined ? (
        <input id={id} name={name} defaultValue={value ?? ''} required={isRequired} maxLength={maxLength} autocomplete="off" />
      ) : (
        <select id={id} name={name}>
          {choices.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </p>
  )
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
