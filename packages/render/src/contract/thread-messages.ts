import type { MessagePort } from 'node:worker_threads'
import type { ModuleCacheDirs } from '@svc/compile/caches'
import type { WireError } from '@svc/core'
import type { BeginKind } from '@svc/guest'
import type { LoopMark } from '@svc/protocol'
import type { SiteManifest } from '@svc/site'
import type { EgressRules } from '../thread/egress/address-policy.ts'

/** Settings of a render thread at its start: those that all sites of a host share. */
export type ThreadBase = Pick<ThreadSettings, 'guestDir' | 'timeoutMs' | 'memoryLimitMb'>

/** All settings of a site for its render thread. */
export interface ThreadSettings {
  readonly site: string
  /** Absolute path of the site's directory. */
  readonly root: string
  readonly mode: 'production' | 'development'
  readonly env: Readonly<Record<string, string>>
  readonly rules: EgressRules
  readonly loopMark: LoopMark
  readonly timeoutMs: number
  readonly memoryLimitMb: number
  readonly cacheDirs: ModuleCacheDirs
  readonly guestDir: string
  readonly manifest: SiteManifest
}

/** The modules of a request may take this long to load, however short its own time is: other sites' may be compiled first. */
const LEAST_LOAD_MS = 10_000

/** How long a request waits for its modules, before its own time begins. */
export function loadLimitMs(timeoutMs: number): number {
  return Math.max(timeoutMs, LEAST_LOAD_MS)
}

/** One request for a thread. A task of the pool is a list of them: those that came in one turn of the host's event loop. */
export interface RenderTask {
  /** Unique in the host. */
  readonly number: number
  readonly kind: BeginKind
  readonly route: string
  /** JSON of `BeginRequest` or `InspectRequest`. */
  readonly begin: string
  readonly requestId: string
  /** A whole body that came with the request. */
  readonly body: Uint8Array | undefined
  /** True if pieces of a body follow as `body` messages, once the thread has asked for them. */
  readonly hasBodyPieces: boolean
  readonly mayStream: boolean
  /** CDN-Loop of the request, or "". */
  readonly cdnLoop: string
  /** Fields that its fetches carry, to continue its trace; undefined: none. */
  readonly trace: readonly [name: string, value: string][] | undefined
}

/** The request that a log line is of. */
export type LogOrigin = Pick<RenderTask, 'requestId' | 'trace'>

/** For a line outside of requests. */
export const noOrigin: LogOrigin = { requestId: '', trace: undefined }

/** A body or a piece of one. Text stays text: memory for its bytes would have to be collected in every thread it passes. */
export type BodyPiece = Uint8Array | string

/** The outcome of a task. Times are milliseconds in the isolate. */
export type RenderResult =
  /** `head`: JSON of `EmittedHead` with facts. */
  | {
      readonly kind: 'complete'
      readonly head: string
      readonly body: BodyPiece | undefined
      readonly renderMs: number
    }
  /** The answer goes, or went, as `StreamPart`s; `end` or `broken` there is its end. Never leaves the thread. */
  | { readonly kind: 'streamed' }
  /** `verdict`: JSON of what middleware decided. */
  | { readonly kind: 'verdict'; readonly verdict: string; readonly renderMs: number }
  /** `facts`: JSON of `EmittedFacts`. */
  | { readonly kind: 'inspected'; readonly facts: string }
  | { readonly kind: 'failed'; readonly error: WireError }
  | { readonly kind: 'aborted' }
  /** The isolate was lost before it came to this request: it can be run in another. Never leaves the thread. */
  | { readonly kind: 'untouched' }

/** A part of a streamed answer. The first is `head`, the last `end` or `broken`. */
export type StreamPart =
  | { readonly kind: 'head'; readonly head: string; readonly body: BodyPiece | undefined }
  | { readonly kind: 'chunk'; readonly body: BodyPiece }
  /** `facts`: JSON of `EmittedFacts`. */
  | { readonly kind: 'end'; readonly facts: string; readonly body: BodyPiece | undefined; readonly renderMs: number }
  | { readonly kind: 'broken'; readonly error: WireError }

/** Messages from the host to a thread. */
export type HostToThread =
  /** Makes the thread that of a site. The first message, and sent once. On `services` the host serves the calls of the site. */
  | { readonly t: 'assign'; readonly settings: ThreadSettings; readonly services: MessagePort }
  | { readonly t: 'abort' | 'hold' | 'resume'; readonly number: number }
  /** `bytes` undefined: the body is complete. */
  | { readonly t: 'body'; readonly number: number; readonly bytes: Uint8Array | undefined }
  /** Files of the site changed; an empty list: look at everything. Answered by `updated`. */
  | { readonly t: 'update'; readonly manifest: SiteManifest; readonly files: readonly string[] }
  /** Asks for the memory in use. Answered by `measured`, when code of the isolate lets it. */
  | { readonly t: 'measure' }
  /** Ends the isolate. Answered by `closed`. */
  | { readonly t: 'close' }

/** Why an isolate ended. */
export type LossReason = 'memory' | 'timeout' | 'crash'

/** The outcome of the request with this number, or a part of its response. */
export type TaskResult = readonly [number: number, result: RenderResult | StreamPart]

/** Messages from a thread to the host. */
export type ThreadToHost =
  /** Results, and parts of streamed answers, of one turn of the thread's event loop. */
  | { readonly t: 'results'; readonly results: readonly TaskResult[] }
  | { readonly t: 'wantBody'; readonly number: number }
  | { readonly t: 'bodyTaken'; readonly number: number; readonly byteCount: number }
  | { readonly t: 'log'; readonly level: string; readonly origin: LogOrigin; readonly text: string }
  /** An isolate is ready; time since the beginning of its creation. */
  | { readonly t: 'built'; readonly buildMs: number }
  /** The isolate was stopped; the next request gets a fresh one. */
  | { readonly t: 'lost'; readonly reason: LossReason }
  /** Native code of the isolate cannot be stopped: only the end of the process ends it. */
  | { readonly t: 'stuck'; readonly reason: LossReason }
  /** `evicted`: ids of the modules that have changed. */
  | { readonly t: 'updated'; readonly evicted: readonly string[] }
  /** `heapBytes` undefined: there is no isolate. */
  | { readonly t: 'measured'; readonly heapBytes: number | undefined }
  | { readonly t: 'closed' }
