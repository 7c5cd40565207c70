import { usePlace } from '../address/router.ts'
import { useServices } from '../data/services.ts'
import { useStore } from '../data/store.ts'
import { pages } from '../pages/pages.ts'
import { LoginDialog } from './login-dialog.tsx'
import { LoginPage } from './login-page.tsx'
import { PageContent } from './page-content.tsx'
import { Shell } from './shell.tsx'

const LOGIN = '/__svc/admin/login'

/** The page that the address names, in its frame. */
export function App() {
  const { path } = usePlace()
  if (path === LOGIN) return <LoginPage />
  const page = pages.find((one) => one.path === path)
  return (
    <>
      {page?.frame === 'wall' ? <PageContent page={page} /> : <Shell page={page} />}
      <LoginDialog />
      <Announcement />
    </>
  )
}

/** Tells screen readers results that appear elsewhere. */
function Announcement() {
  const text = useStore(useServices().announcement)
  return (
    <p class="hidden" role="status" data-announcement>
      {text}
    </p>
  )
}
