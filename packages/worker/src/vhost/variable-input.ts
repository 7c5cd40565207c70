import type { CaptureSink, Captures, ServerSpec } from '@svc/vhosts'
import type { RequestContext } from '../request/request-context.ts'

/** `$fastcgi_script_name` and `$fastcgi_path_info`. */
export interface ScriptPath {
  readonly name: string
  readonly info: string
}

/** The input of variables: one request at its server, in its present state. */
export interface VariableInput extends CaptureSink {
  readonly context: RequestContext
  readonly server: ServerSpec
  /** `$uri`, one character for each byte. */
  readonly uri: string
  readonly args: string
  readonly method: string
  captures: Captures
  /** True if numbered captures are escaped as arguments when they are read. */
  readonly quotesCaptures: boolean
  /** `$document_root`. */
  documentRoot(): string
  /** `$request_filename`. */
  fileName(): string
  /** The input of `fastcgi_script_name` and `fastcgi_path_info`, where the location has an application for it. */
  scriptPath(): ScriptPath
  /** A variable that was set for this request: named captures, results of maps, values from content. */
  variable(name: string): string | undefined
  setVariable(name: string, value: string): void
}
