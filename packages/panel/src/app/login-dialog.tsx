import { Dialog } from '../components/dialog.tsx'
import { useServices, useUser } from '../data/services.ts'
import { useStore } from '../data/store.ts'
import { LoginForm } from './login-form.tsx'

/** Asks for a login over the page when the session has ended, so that the page keeps all that was typed. */
export function LoginDialog() {
  const { session } = useServices()
  const { username } = useUser()
  if (!useStore(session.isEnded)) return null
  return (
    <Dialog title="The session has ended">
      <p>Log in again: the page stays as it is.</p>
      <LoginForm username={username} onUser={(user) => session.began(user)} />
    </Dialog>
  )
}
