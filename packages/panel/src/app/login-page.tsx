import { safeNext, usePlace } from '../address/router.ts'
import { LoginForm } from './login-form.tsx'

/** The page without a session. The next page is a full load: the server names the user in it. */
export function LoginPage() {
  const { query } = usePlace()
  return (
    <main class="login-page">
      <h1>Log in to svc</h1>
      <LoginForm onUser={() => location.assign(safeNext(query.get('next')))} />
    </main>
  )
}
