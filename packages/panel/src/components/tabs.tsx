import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { useParameter } from '../address/router.ts'

interface TabsProps {
  /** Parameter of the address with the name of the open tab. */
  readonly name: string
  readonly label: string
  readonly tabs: ReadonlyArray<{ readonly name: string; readonly title: string; readonly content: () => ComponentChildren }>
}

/** Several contents, one of which shows. Arrow keys go from tab to tab. */
export function Tabs({ name, label, tabs }: TabsProps) {
  const [chosen, choose] = useParameter(name, tabs[0]?.name)
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const index = Math.max(
    0,
    tabs.findIndex((tab) => tab.name === chosen),
  )
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const next = step === undefined ? undefined : tabs[(index + step + tabs.length) % tabs.length]
    if (next === undefined) return
    event.preventDefault()
    choose(next.name)
    list.current?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(next.name)}"]`)?.focus()
  }
  return (
    <>
      <div ref={list} class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab, at) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${id}-${tab.name}`}
            data-tab={tab.name}
            aria-selected={at === index}
            aria-controls={`${id}-panel`}
            tabIndex={at === index ? 0 : -1}
            onClick={() => choose(tab.name)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${tabs[index]?.name}`}>
        {tabs[index]?.content()}
      </div>
    </>
  )
}
