import { useId, useMemo, useRef, useState } from 'preact/hooks'
import { Dialog } from '../components/dialog.tsx'
import type { SiteFacts, SitePage } from '../data/answers.ts'
import { usePages } from '../data/use-pages.ts'
import { type Command, matching, siteWords } from './commands.ts'

/** Sites that are asked for at a time. */
const SITES = 50

interface CommandPaletteProps {
  readonly commands: readonly Command[]
  /** Commands that the text itself asks for: a URL, a tag, the id of a request. */
  readonly askedFor: (text: string, sites: readonly SiteFacts[]) => readonly Command[]
  readonly onSite: (id: string) => void
  readonly onClose: () => void
}

/** Finds pages, sites and actions by a few letters. */
export function CommandPalette({ commands, askedFor, onSite, onClose }: CommandPaletteProps) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const query = { q: siteWords(text), limit: SITES }
  const { data } = usePages('/admin/api/sites', (page: SitePage) => page.sites, { query, keepsRows: true })
  const all = useMemo(() => {
    const sites = data?.rows ?? []
    return [...commands, ...sites.map((site) => ({ kind: 'Site', label: site.id, run: () => onSite(site.id) }))]
  }, [commands, data, onSite])
  const found = [...askedFor(text.trim(), data?.rows ?? []), ...matching(all, text)]
  const run = (command: Command | undefined) => {
    if (command === undefined) return
    onClose()
    command.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') run(found[chosen])
    else if (step === undefined || found.length === 0) return
    else {
      const next = (chosen + step + found.length) % found.length
      setChosen(next)
      list.current?.children[next]?.scrollIntoView({ block: 'nearest' })
    }
    event.preventDefault()
  }
  return (
    <Dialog title="Go to a page, or run an action" onClose={onClose} class="palette">
      <input
        role="combobox"
        aria-label="Page, site, action, URL, tag or request id"
        placeholder="A page, a site, a URL, tag NAME, the id of a request"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
        autocomplete="off"
        maxLength={2_000}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={`${id}-list`} role="listbox" aria-label="Found">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys go to the field, which names the chosen option
          <div
            key={`${command.kind} ${command.label}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => run(command)}
          >
            <small>{command.kind}</small> {command.label}
          </div>
        ))}
      </div>
      <p role="status" class={found.length === 0 ? '' : 'hidden'}>
        {found.length === 0 ? 'No match.' : `${found.length} found`}
      </p>
    </Dialog>
  )
}
