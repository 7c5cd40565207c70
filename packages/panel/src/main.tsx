import { render } from 'preact'
import { App } from './app/app.tsx'
import { applyTheme } from './app/theme.ts'
import { Api, urlOf } from './data/api.ts'
import { LiveStream } from './data/live-stream.ts'
import { ServicesContext } from './data/services.ts'
import { Session, type User } from './data/session.ts'
import { Store } from './data/store.ts'
import type { SummaryReport } from './data/summary.ts'

const named = document.body.dataset['user'] ?? ''
const session = new Session(named === '' ? undefined : (JSON.parse(named) as User))
const api = new Api(session)
const summary = new LiveStream<SummaryReport>(urlOf('/obs/summary', { stream: '1' }), api)
const services = { session, api, summary, announcement: new Store('') }
const root = document.getElementById('app')

applyTheme()
if (root !== null) {
  render(
    <ServicesContext.Provider value={services}>
      <App />
    </ServicesContext.Provider>,
    root,
  )
}
