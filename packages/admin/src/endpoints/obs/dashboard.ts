import { endpoint } from '../../contract/endpoint.ts'
import { html, pageAnswer } from '../../contract/page.ts'

const SCRIPT = '/__svc/admin/assets/dashboard.js'

export const dashboard = endpoint({
  method: 'GET',
  path: '/__svc/obs/dashboard',
  group: 'obs',
  access: 'viewer',
  isPage: true,
  summary: 'Page with traffic, alerts and objectives, live by server-sent events.',
  handle(plane) {
    const options = plane.sites.list().map(({ id }) => html`<option>${id}</option>`)
    const body = html`<header><h1>svc dashboard</h1><nav aria-label="Pages"><a href="/__svc/admin">Overview</a></nav></header>
<main>
<p role="status" data-note>Loading...</p>
<p data-updated></p>
<noscript><p>This page needs JavaScript. The figures are also at <code>/__svc/obs/alerts</code>, <code>/__svc/obs/slos</code> and
<code>/__svc/obs/analytics</code>.</p></noscript>
<section aria-labelledby="now"><h2 id="now">Now</h2><div data-now></div></section>
<section aria-labelledby="alerts"><h2 id="alerts">Alerts</h2><div class="scroll" data-alerts tabindex="0" role="region" aria-labelledby="alerts"></div></section>
<section aria-labelledby="traffic"><h2 id="traffic">Traffic</h2>
<form data-choice>
<label>Site <select name="site"><option value="">all sites</option>${options}</select></label>
<label>Time <select name="window"><option value="5m">5 minutes</option><option value="1h" selected>1 hour</option>
<option value="24h">24 hours</option><option value="7d">7 days</option></select></label>
<button type="button" data-pause aria-pressed="false">Pause</button>
</form>
<div data-traffic></div></section>
<section aria-labelledby="sites"><h2 id="sites">Sites</h2><div class="scroll" data-sites tabindex="0" role="region" aria-labelledby="sites"></div></section>
<section aria-labelledby="flows"><h2 id="flows">Recorded requests</h2><div data-flows></div></section>
<section aria-labelledby="log"><h2 id="log">Log</h2>
<form data-log-choice>
<label>Level <select name="level"><option>debug</option><option selected>info</option><option>warn</option><option>error</option></select></label>
<label>Contains <input name="q" maxlength="200" autocomplete="off"></label>
<button type="button" data-follow aria-pressed="false">Follow</button>
</form>
<div class="scroll" data-log tabindex="0" role="log" aria-labelledby="log"></div></section>
<section aria-labelledby="slos"><h2 id="slos">Objectives</h2><div class="scroll" data-slos tabindex="0" role="region" aria-labelledby="slos"></div></section>
</main>`
    return pageAnswer('Dashboard', body, SCRIPT)
  },
})
