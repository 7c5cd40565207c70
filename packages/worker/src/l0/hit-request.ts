import type { ReadyRequest } from '@svc/engine'
import type { ClientInfo } from '@svc/http'
import type { LoggedRequest } from '../request/formatted-logs.ts'

/** The client of a request that L0 answers. */
export interface HitClient {
  readonly client: ClientInfo
  /** Id that a trusted proxy gave the request. */
  readonly givenId: string | undefined
}

interface HitFacts {
  readonly client: ClientInfo
  readonly startedAt: number
  /** Called at most once. */
  requestId(): string
}

/** A request that L0 answers, for the logs of its location: a copy, since the line may be written later. */
export function hitRequest(ask: ReadyRequest, { client, startedAt, requestId }: HitFacts): LoggedRequest {
  const { method, target, httpVersion, scheme, host, listener } = ask
  const headers = ask.fieldList()
  const request = {
    ...{ method, target, httpVersion, scheme, host, listener, headers },
    remoteAddress: ask.countedAddress(),
    header: (name: string) => headers.find(([known]) => known === name)?.[1],
  }
  let id: string | undefined
  return {
    exchange: { request, body: { length: undefined } },
    request,
    client,
    startedAt,
    get requestId() {
      id ??= requestId()
      return id
    },
  }
}
