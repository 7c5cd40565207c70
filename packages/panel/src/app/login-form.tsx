import { useId, useState } from 'preact/hooks'
import { Failure } from '../components/failure.tsx'
import { ApiError } from '../data/api.ts'
import { useServices } from '../data/services.ts'
import type { User } from '../data/session.ts'

interface LoginFormProps {
  /** The name to begin with. */
  readonly username?: string
  readonly onUser: (user: User) => void
}

/** Asks for name and password. */
export function LoginForm({ username = '', onUser }: LoginFormProps) {
  const { api } = useServices()
  const id = useId()
  const [error, setError] = useState<ApiError>()
  const [isBusy, setIsBusy] = useState(false)
  const submit = async (form: HTMLFormElement) => {
    const fields = new FormData(form)
    setIsBusy(true)
    setError(undefined)
    try {
      onUser(await api.logIn(String(fields.get('username')), String(fields.get('password'))))
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure
      setError(failure)
      form.querySelector<HTMLInputElement>('[name=password]')?.focus()
    }
    setIsBusy(false)
  }
  return (
    <form
      class="login"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) void submit(event.currentTarget)
      }}
    >
      <p class="field">
        <label for={`${id}-name`}>Username</label>
        <input id={`${id}-name`} name="username" autocomplete="username" required maxLength={256} defaultValue={username} />
      </p>
      <p class="field">
        <label for={`${id}-password`}>Password</label>
        <input id={`${id}-password`} name="password" type="password" autocomplete="current-password" required maxLength={1024} />
      </p>
      {error !== undefined && <Failure doing="log in" error={error} />}
      <button type="submit" class="primary">
        {isBusy ? 'Logging in' : 'Log in'}
      </button>
    </form>
  )
}
