import type { Session, User } from './session.ts'

const PREFIX = '/__svc'
/** Values of parameters; undefined and empty ones are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>

interface Problem {
  readonly code?: string
  readonly detail?: string
  readonly request_id?: string
  readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }>
}

/** A request that failed. */
export class ApiError extends Error {
  /** 0: no response came. */
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  /** Each mistake of the request, or of what it was about, with its place. */
  readonly mistakes: readonly string[]

  constructor(
    status: number,
    { code = 'no_code', detail = 'the server gave no reason', request_id: requestId, errors = [] }: Problem,
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.requestId = requestId
    this.mistakes = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  }
}

export function urlOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${PREFIX}${path}${text === '' ? '' : `?${text}`}`
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    return (await response.json()) as Problem
  } catch {
    return { code: 'no_problem_body', detail: `the server answered ${response.status} without a reason` }
  }
}

/** Calls the endpoints below `/__svc`. */
export class Api {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  /** @throws ApiError, and AbortError of the signal */
  get<Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> {
    return this.#call(urlOf(path, query), signal === undefined ? {} : { signal })
  }

  /** Changes something. @throws ApiError */
  send<Answer>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown, query?: Query): Promise<Answer> {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    return this.#call(urlOf(path, query), { method, headers: { 'x-svc-request': '1', ...json }, ...content })
  }

  /** Begins a session. @throws ApiError */
  async logIn(username: string, password: string): Promise<User> {
    const headers = { 'content-type': 'application/json', 'x-svc-request': '1' }
    const body = JSON.stringify({ username, password })
    const response = await request(urlOf('/admin/api/login'), { method: 'POST', headers, body })
    if (!response.ok) throw new ApiError(response.status, await problemOf(response))
    return ((await response.json()) as { readonly user: User }).user
  }

  /** Resolves if the server would begin a stream, which is not read. @throws ApiError */
  async probe(url: string): Promise<void> {
    const abort = new AbortController()
    const response = await request(url, { signal: abort.signal })
    if (response.ok) {
      abort.abort()
      return
    }
    if (response.status !== 401) throw new ApiError(response.status, await problemOf(response))
    await this.#session.renewed()
  }

  /** A request without a session waits for a login, and is sent again. */
  async #call<Answer>(url: string, init: RequestInit): Promise<Answer> {
    const response = await request(url, init)
    if (response.ok) return (await response.json()) as Answer
    if (response.status !== 401) throw new ApiError(response.status, await problemOf(response))
    await this.#session.renewed()
    return this.#call(url, init)
  }
}

async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, { code: 'unreachable', detail: 'the server does not answer' })
  }
}
