import { endpoint } from '../../contract/endpoint.ts'
import { html, pageAnswer } from '../../contract/page.ts'

export const loginPage = endpoint({
  method: 'GET',
  path: '/__svc/admin/login',
  group: 'admin',
  access: 'open',
  isPage: true,
  summary: 'Page to log in.',
  handle: () =>
    pageAnswer(
      'Log in',
      html`<main>
<h1>Log in</h1>
<form data-login>
<p><label>Username<br><input name="username" autocomplete="username" required autofocus></label></p>
<p><label>Password<br><input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>Log in</button></p>
</form>
<p role="status" data-result></p>
<noscript><p>This page needs JavaScript. <code>svc config credentials token</code> makes a token for the API.</p></noscript>
</main>`,
    ),
})
