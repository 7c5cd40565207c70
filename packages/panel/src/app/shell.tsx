import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { navigate, usePlace } from '../address/router.ts'
import { type Action, ActionDialog } from '../components/action-dialog.tsx'
import { Link } from '../components/link.tsx'
import { type SiteFacts, sitePath } from '../data/answers.ts'
import { useMayChange, useServices, useUser } from '../data/services.ts'
import { type PanelPage, pages } from '../pages/pages.ts'
import { Liveness } from '../panels/liveness.tsx'
import { purgeTag } from '../panels/purge-actions.ts'
import { reloadAction } from '../panels/reload-action.ts'
import { commandsFor } from './asked-for.ts'
import { CommandPalette } from './command-palette.tsx'
import type { Command } from './commands.ts'
import { PageContent, useMaySee } from './page-content.tsx'
import { ThemeChoice } from './theme-choice.tsx'

/** The frame of the pages: navigation, way back, tools, and the page. */
export function Shell({ page }: { readonly page: PanelPage | undefined }) {
  const [isDrawerOpen, setIsDrawerOpen] = useState(false)
  const [isPaletteOpen, setIsPaletteOpen] = useState(false)
  const { path, query } = usePlace()
  const item = page?.parent === undefined ? undefined : (query.get('id') ?? undefined)
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const { announcement } = useServices()
  useShortcut(setIsPaletteOpen)
  useEffect(() => {
    setIsDrawerOpen(false)
    // The browser does both when it loads a page.
    if (!isFirst.current) {
      main.current?.focus()
      announcement.set(page?.title ?? 'No such page')
    }
    isFirst.current = false
  }, [path])
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <button
          type="button"
          class="drawer-button"
          aria-expanded={isDrawerOpen}
          aria-controls="rail"
          onClick={() => setIsDrawerOpen(!isDrawerOpen)}
        >
          Menu
        </button>
        <Breadcrumbs page={page} item={item} />
        <Liveness />
        <button type="button" class="palette-button" aria-keyshortcuts="Control+K Meta+K" onClick={() => setIsPaletteOpen(true)}>
          Find <kbd>Ctrl K</kbd>
        </button>
      </header>
      <Rail page={page} isOpen={isDrawerOpen} onClose={() => setIsDrawerOpen(false)} />
      <main id="main" ref={main} tabIndex={-1}>
        <h1>{item ?? page?.title ?? 'No such page'}</h1>
        <PageContent page={page} />
      </main>
      <PaletteHolder isOpen={isPaletteOpen} onClose={() => setIsPaletteOpen(false)} />
    </div>
  )
}

/** Ctrl-K and Cmd-K. */
function useShortcut(open: (isOpen: boolean) => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      if (document.querySelector('dialog[open]') === null) open(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [open])
}

function Breadcrumbs({ page, item }: { readonly page: PanelPage | undefined; readonly item: string | undefined }) {
  const parent = pages.find(({ path }) => path === page?.parent)
  return (
    <nav class="crumbs" aria-label="Breadcrumbs">
      <ol>
        <li>
          <Link href="/__svc/admin" class="brand">
            svc
          </Link>
        </li>
        {parent !== undefined && (
          <li>
            <Link href={parent.path}>{parent.title}</Link>
          </li>
        )}
        <li aria-current="page">{item ?? page?.title ?? 'No such page'}</li>
      </ol>
    </nav>
  )
}

interface RailProps {
  readonly page: PanelPage | undefined
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** The navigation: at the left, on a phone a drawer. */
function Rail({ page, isOpen, onClose }: RailProps) {
  const { username, role } = useUser()
  const maySee = useMaySee()
  const listed = pages.filter((one) => one.group !== undefined && maySee(one))
  const groups = [...new Set(listed.map(({ group }) => group))]
  const { logOut } = useOperations()
  useEffect(() => {
    if (!isOpen) return
    const onKeyDown = ({ key }: KeyboardEvent) => key === 'Escape' && onClose()
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [isOpen, onClose])
  return (
    <div id="rail" class={`rail ${isOpen ? 'rail-open' : ''}`}>
      <nav aria-label="Pages">
        {groups.map((group) => (
          <div key={group} class="rail-group">
            <h2>{group}</h2>
            <ul>
              {listed
                .filter((one) => one.group === group)
                .map(({ path, title }) => (
                  <li key={path}>
                    <Link href={path} isCurrent={page?.path === path || page?.parent === path}>
                      {title}
                    </Link>
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </nav>
      <section class="rail-foot" aria-label="User and theme">
        <ThemeChoice />
        <div class="rail-user">
          <p>
            {username}
            <br />
            <small>{role}</small>
          </p>
          <button type="button" onClick={() => void logOut()}>
            Log out
          </button>
        </div>
      </section>
    </div>
  )
}

/** Operations that the frame itself offers. */
function useOperations() {
  const { api } = useServices()
  const logOut = useCallback(async () => {
    await api.send('POST', '/admin/api/logout')
    location.assign('/__svc/admin/login')
  }, [api])
  const reload = useMemo(() => reloadAction(api), [api])
  return { logOut, reload }
}

/** The palette, and the dialogs of the actions that it begins. */
function PaletteHolder({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const maySee = useMaySee()
  const { api } = useServices()
  const mayReload = useMayChange('super_admin')
  const mayPurge = useMayChange('tenant_admin')
  const { logOut, reload } = useOperations()
  const [action, setAction] = useState<Action>()
  const toSite = useCallback((id: string) => navigate(sitePath(id)), [])
  const askedFor = (text: string, sites: readonly SiteFacts[]) =>
    commandsFor(text, sites, mayPurge ? (tag) => setAction(purgeTag(api, tag)) : undefined)
  const commands: Command[] = [
    ...pages
      .filter((one) => one.group !== undefined && maySee(one))
      .map(({ path, title }) => ({ kind: 'Page', label: title, run: () => navigate(path) })),
    ...(mayReload ? [{ kind: 'Action', label: reload.label, run: () => setAction(reload) }] : []),
    { kind: 'Action', label: 'Log out', run: () => void logOut() },
  ]
  return (
    <>
      {isOpen && <CommandPalette commands={commands} askedFor={askedFor} onSite={toSite} onClose={onClose} />}
      {action !== undefined && <ActionDialog action={action} onClose={() => setAction(undefined)} />}
    </>
  )
}
