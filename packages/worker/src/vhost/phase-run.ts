import type { HeaderList } from '@svc/http'
import type { StageResult } from '../request/request-context.ts'
import type { FileHandler } from '../static/index.ts'
import type { FileAuth } from './passwords/file-auth.ts'
import type { RunState } from './run-state.ts'
import type { Templates } from './templates.ts'
import type { Found, WebFiles } from './web-files.ts'

/** Completion of a response: done at once, or later. */
export type Outcome = StageResult | Promise<StageResult>

/** Target of an inner redirect. */
export type InnerTarget = { readonly uri: string; readonly args: string } | { readonly named: string }

/** Content of responses. */
export interface VhostTools {
  readonly templates: Templates
  readonly files: WebFiles
  readonly fileHandler: FileHandler
  readonly basicAuth: FileAuth
}

/** A request on its way through the phases of its server, as the phases see it. */
export interface PhaseRun {
  readonly state: RunState
  readonly tools: VhostTools
  /** Looks up the target of a path; the response is valid only while the target stays the same. */
  look(path: string): Found
  /** Notes a target that was found without `look`. */
  noteFound(path: string, found: Found): void
  /** Offers the response to L0. `isCurrent`: a further condition. @returns true if L0 admits it */
  offer(isCurrent?: () => boolean): boolean
  /** Answers with an error of this server. */
  fail(status: number, headers?: HeaderList): Outcome
  /** Answers with a URL to go to; a path is made absolute. */
  redirect(status: number, url: string): Outcome
  goInside(target: InnerTarget): Outcome
}
