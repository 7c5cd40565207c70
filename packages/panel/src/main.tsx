import { render } from 'preact'
import { App } from './app/app.tsx'
import { applyTheme } from './app/theme.ts'
import { Api, urlOf } from './data/api.ts'
import { LiveStream } from './data/live-stream.ts'
import { PageCode } from './data/page-code.ts'
import { ServicesContext } from './data/services.ts'
import { Session, type User } from './data/session.ts'
import { Store } from './data/store.ts'
import type { SummaryReport } from './data/summary.ts'
import { pages } from './pages/pages.ts'

const named = document.body.dataset['user'] ?? ''
const session = new Session(named === '' ? undefined : (JSON.parse(named) as User))
const api = new Api(session)
const summary = new LiveStream<SummaryReport>(urlOf('/obs/summary', { stream: '1' }), api)
const code = new PageCode()
const services = { session, api, summary, code, announcement: new Store('') }
const root = document.getElementById('app')

applyTheme()
const first = pages.find(({ path }) => path === location.pathname)
// The frame and the page are drawn in one go: the page names the scripts of both. If they are not there, the frame says so.
if (first !== undefined) await code.load(first.load).catch(() => undefined)
if (root !== null) {
  render(
    <ServicesContext.Provider value={services}>
      <App />
    </ServicesContext.Provider>,
    root,
  )
}
