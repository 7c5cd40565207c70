import type { ComponentType } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { Empty } from '../components/empty.tsx'
import { Skeleton } from '../components/skeleton.tsx'
import { useMayChange, useServices, useUser } from '../data/services.ts'
import type { PanelPage } from '../pages/pages.ts'

/** True if the user may read the data of a page. */
export function useMaySee(): (page: PanelPage) => boolean {
  const { role } = useUser()
  const isTenant = role === 'tenant_admin'
  const isSuper = role === 'super_admin'
  return ({ role: needed = 'viewer', isForTenants = true }) =>
    isSuper || (needed !== 'super_admin' && (isTenant ? isForTenants : needed === 'viewer'))
}

type Code = { readonly kind: 'ready'; readonly Page: ComponentType } | { readonly kind: 'loading' } | { readonly kind: 'missing' }

/** Loads the code of a page and draws it. */
export function PageContent({ page }: { readonly page: PanelPage | undefined }) {
  const maySee = useMaySee()
  const { code: pageCode } = useServices()
  const [loaded, setLoaded] = useState<{ readonly page: PanelPage | undefined; readonly code: Code }>()
  const isSuper = useMayChange('super_admin')
  useLayoutEffect(() => {
    document.title = page === undefined ? 'No such page - svc' : `${page.title} - svc`
    if (page === undefined) return
    let isWanted = true
    const show = (code: Code) => isWanted && setLoaded({ page, code })
    pageCode.load(page.load).then(
      (Page) => show({ kind: 'ready', Page }),
      () => show({ kind: 'missing' }),
    )
    return () => {
      isWanted = false
    }
  }, [page])
  if (page === undefined) return <Empty title="There is no such page.">Choose another one in the navigation.</Empty>
  if (!maySee(page)) {
    const why = isSuper ? '' : 'Ask a super_admin for the role, or for the figures.'
    return <Empty title={`Your role cannot open this page: ${page.title}.`}>{why}</Empty>
  }
  const Known = pageCode.known(page.load)
  if (Known !== undefined) return <Known />
  const code = loaded?.page === page ? loaded.code : { kind: 'loading' as const }
  switch (code.kind) {
    case 'ready':
      return <code.Page />
    case 'loading':
      return <Skeleton rows={6} label={`Loading: ${page.title}`} />
    case 'missing':
      return <Unloadable />
  }
}

/** A page whose code is not there: the server was upgraded under the page, or is down. */
function Unloadable() {
  return (
    <Empty title="Failed to load the code of this page.">
      The server is down, or has another version now.{' '}
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </Empty>
  )
}
