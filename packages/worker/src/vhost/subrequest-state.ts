import type { RequestContext } from '../request/request-context.ts'
import { RunState } from './run-state.ts'

/** Set by the content of each request for itself. */
const OF_CONTENT: ReadonlySet<string> = new Set(['proxy_host', 'proxy_port', 'fastcgi_script_name', 'fastcgi_path_info'])

const noMatch = { captures: [], names: new Map<string, string>() }

/** A subrequest at the server of its request, whose variables it shares. It passes no access checks: it belongs to one. */
export class SubrequestState extends RunState {
  override readonly isSubrequest = true
  readonly #parent: RunState

  constructor(parent: RunState, context: RequestContext) {
    super(context, parent.compiled, { ...noMatch, server: parent.server }, { path: parent.uri, isQuoted: parent.isQuoted })
    this.#parent = parent
  }

  override get main(): RunState {
    return this.#parent.main
  }

  override get requestMethod(): string {
    return this.#parent.requestMethod
  }

  override variable(name: string): string | undefined {
    return OF_CONTENT.has(name) ? super.variable(name) : this.#parent.variable(name)
  }

  override setVariable(name: string, value: string): void {
    if (OF_CONTENT.has(name)) super.setVariable(name, value)
    else this.#parent.setVariable(name, value)
  }
}
