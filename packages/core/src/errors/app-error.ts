/** Definition of an error code in the table of a package. */
export interface ErrorSpec {
  /** HTTP status to answer with, when the error can reach a client. */
  readonly status?: number
  /** True if the same operation may succeed when repeated. @default false */
  readonly retryable?: boolean
  /** True if the message may be shown to an HTTP client. @default false */
  readonly exposable?: boolean
  /**
   * The message, with `{name}` for each fact that the caller gives. A code without a template takes its message from the
   * caller, since it is raised for more than one reason.
   */
  readonly template?: string
  /** Exit code of a process that ends with this error; see `ExitCode` of `protocol`. */
  readonly exitCode?: number
  /** A sentence that tells a user how to go on, printed below the message. */
  readonly advice?: string
}

/** Options of an `AppError` besides code and message. */
interface AppErrorOptions {
  readonly cause?: unknown
  /** Facts for the log and for messages across processes: plain data only. */
  readonly data?: Readonly<Record<string, unknown>>
}

/**
 * The base of all errors that this product makes on purpose. Match on `code`, never on the message or with `instanceof`:
 * an error may have crossed a thread or a process.
 */
export class AppError<Code extends string = string> extends Error {
  readonly code: Code
  readonly status: number | undefined
  readonly retryable: boolean
  readonly exposable: boolean
  readonly exitCode: number | undefined
  readonly advice: string | undefined
  readonly data: Readonly<Record<string, unknown>> | undefined

  constructor(code: Code, message: string, spec: ErrorSpec = {}, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.status = spec.status
    this.retryable = spec.retryable ?? false
    this.exposable = spec.exposable ?? false
    this.exitCode = spec.exitCode
    this.advice = spec.advice
    this.data = options.data
  }
}

/** Names of the placeholders of a template. */
type Placeholders<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never

type MessageOf<Spec> = Spec extends { readonly template: infer Template extends string }
  ? Readonly<Record<Placeholders<Template>, string | number>>
  : string

/** The error class of a package: one for all codes of its table. */
interface ErrorClass<Table extends Readonly<Record<string, ErrorSpec>>> {
  readonly prototype: AppError<keyof Table & string>
  /** The table that the class was made from. */
  readonly table: Table
  /** `message`: the facts of the code's template, or the whole message of a code that has none. */
  new <Code extends keyof Table & string>(
    code: Code,
    message: MessageOf<Table[Code]>,
    options?: AppErrorOptions,
  ): AppError<keyof Table & string>
}

function fillTemplate(template: string, facts: Readonly<Record<string, string | number>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(facts[name]))
}

/**
 * Makes the error class of a package from its table of codes.
 * @param name of the class, as stack traces show it
 */
export function errorClass<const Table extends Readonly<Record<string, ErrorSpec>>>(
  name: string,
  table: Table,
): ErrorClass<Table> {
  type Code = keyof Table & string
  return class extends AppError<Code> {
    static readonly table = table

    constructor(code: Code, message: string | Readonly<Record<string, string | number>>, options?: AppErrorOptions) {
      const spec: ErrorSpec = table[code] ?? {}
      super(code, typeof message === 'string' ? message : fillTemplate(spec.template ?? code, message), spec, options)
      this.name = name
    }
  }
}

/** Returns the `code` of an error-like value, or undefined. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Returns a one-line message for any thrown value. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message)
  return String(error)
}

/** Turns any thrown value into an `Error`, keeping it as it is when it is one. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown })
}

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
