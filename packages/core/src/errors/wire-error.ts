import { AppError, codeOf, messageOf } from './app-error.ts'

/** An error as plain data, for a crossing of threads, processes or isolates. */
export interface WireError {
  readonly code: string
  readonly message: string
  readonly status?: number
  readonly retryable?: boolean
  readonly exposable?: boolean
  readonly data?: Readonly<Record<string, unknown>>
  readonly stack?: string
}

/** Makes an error ready to cross a process or thread boundary. The only way out; `fromWire` is the only way in. */
export function toWire(error: unknown): WireError {
  const stack = error instanceof Error ? error.stack : undefined
  const base = { code: codeOf(error) ?? 'INTERNAL', message: messageOf(error), ...(stack === undefined ? {} : { stack }) }
  if (!(error instanceof AppError)) return base
  return {
    ...base,
    retryable: error.retryable,
    exposable: error.exposable,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.data === undefined ? {} : { data: error.data }),
  }
}

/** Rebuilds an error that crossed a boundary; its stack is the sender's. */
export function fromWire(wire: WireError): AppError {
  const error = new AppError(wire.code, wire.message, wire, wire.data === undefined ? {} : { data: wire.data })
  if (wire.stack !== undefined) error.stack = wire.stack
  return error
}
