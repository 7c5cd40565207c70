/**
 * The boundary between a render thread and the isolate of its site. Both sides import this file: the thread (Node) and the
 * guest (bundled into the isolate). Everything that crosses is a primitive, a string of JSON or an ArrayBuffer.
 *
 * The guest bundle is one classic script. Evaluating it defines the non-enumerable global `__svc` with the functions of
 * `GuestApi`. It is evaluated once into a V8 snapshot, so it captures no host function at evaluation: the thread hands its
 * callbacks over with `install` after the isolate was made.
 *
 * Every function of `GuestApi` that can run site code is entered with isolated-vm's asynchronous API and reports by
 * callbacks only, never by its return value: isolated-vm throws a floating rejection of the site out of whichever call is
 * running. A throw out of such a call therefore means "background rejection: log it".
 */

/** The form of a module's factory. */
export type ModuleFormat =
  /**
   * Transformed ESM: `factory(importModule, exports, exportAll, dynamicImport, importMeta)`. The first four are what the
   * compiler's module transform refers to: `importModule(specifier, metadata?)` returns a namespace (synchronous),
   * `exports` is the object that getters are defined on, `exportAll(namespace)` is `export *`, `dynamicImport(specifier)`
   * returns a promise. Called with `this` undefined.
   */
  | 'esm'
  /** `factory(exports, require, module, __filename, __dirname)` */
  | 'cjs'
  /** No factory: the source text is JSON, parsed on first use. */
  | 'json'
  /** No factory: the text is `{"css": string, "classes": {name: generated}}`. Default and named exports are the classes. */
  | 'css'

/** Settings of the site. The thread sends them once, before it defines any module. */
export interface GuestSettings {
  readonly site: string
  readonly mode: 'production' | 'development'
  /** The whole of `process.env` as the site sees it. */
  readonly env: Readonly<Record<string, string>>
}

/** Kinds of requests that `begin` runs. */
export type BeginKind = 'page' | 'handler' | 'metadata' | 'not-found' | 'middleware' | 'static-paths' | 'inspect'

/** The JSON argument of `begin`. For `inspect` see `InspectRequest`. */
export interface BeginRequest {
  readonly requestId: string
  readonly method: string
  /** Absolute URL as the client sees it. */
  readonly url: string
  readonly headers: readonly (readonly [string, string])[]
  readonly params: Readonly<Record<string, string | string[]>>
  readonly remoteAddress: string
  readonly mayStream: boolean
  /** True if `bodyChunk` calls follow for this request. */
  readonly hasBody: boolean
}

/** `begin` with kind `inspect`: evaluates modules and reports their config exports (as FINISHED facts). */
export interface InspectRequest {
  /** Module ids to evaluate. Their config exports (`config`, `dynamic`, `revalidate`, `dynamicParams`, ...) are reported. */
  readonly modules: readonly string[]
}

/** Kinds of `emit`. Numbers, because they cross on every request. */
export const Emit = {
  /** a: JSON of `EmittedHead`, b: whole body as text. The whole answer at once; `finished` facts are in the head. Ends the request. */
  complete: 0,
  /** a: JSON of `EmittedHead`, b: the first piece of the body as text or ArrayBuffer, where there is one. More may follow. */
  head: 1,
  /** b: a piece of the body as text */
  text: 2,
  /** b: a piece of the body as ArrayBuffer */
  bytes: 3,
  /** a: JSON of `EmittedFacts`, b: the last piece of the body as text, where there is one. Ends the request. */
  finished: 4,
  /** a: JSON of `EmittedError`. Ends the request: nothing of the answer was emitted before, or the answer is broken off. */
  failed: 5,
  /** a: JSON of `MiddlewareVerdict` of the protocol package plus facts. Ends the request. */
  verdict: 6,
  /** a: JSON of `EmittedError`: an error that the guest has dealt with (an error boundary was shown), for the site's log. */
  handled: 7,
} as const
export type EmitKind = (typeof Emit)[keyof typeof Emit]

/** Most tags reported for one run: one more than an entry may have, so that the host sees when there are too many. */
export const MAX_EMITTED_TAGS = 1_025

export interface EmittedFacts {
  /** Any of: headers, cookies, query, host, no-store. */
  readonly reads: readonly string[]
  readonly tags: readonly string[]
  /** Seconds, 0, or false (for ever); absent: the site's default. */
  readonly revalidate?: number | false
  /** For `inspect`: module id -> its plain-data config exports. */
  readonly modules?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface EmittedHead {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** With `complete` only. */
  readonly facts?: EmittedFacts
}

export interface EmittedError {
  readonly name: string
  readonly message: string
  /** Stack with positions of the compiled modules; the thread maps it to sources. */
  readonly stack: string
  /** Short id that the client may see. */
  readonly digest?: string
  /** Component or file context, where known. */
  readonly where?: string
}

/** The functions of the global `__svc` inside the isolate. */
export interface GuestApi {
  /** Sets the callbacks. Called once, with `evalClosure`, right after the isolate was made. */
  install(callbacks: HostCallbacks): void
  configure(settingsJson: string): void
  /**
   * Adds a module to the registry without running it. `id` is its absolute source path (or a `builtin:` id is refused).
   * `dependenciesJson` maps each specifier it uses to a module id or `builtin:<name>`; a specifier that could not be resolved
   * maps to `!<message>` and throws that message when it is required.
   */
  define(id: string, format: ModuleFormat, dependenciesJson: string, factoryOrText: unknown): void
  /** Defines or replaces a route: JSON of `Route` of the site package. Reset by `forgetRoutes`. */
  defineRoute(routeJson: string): void
  forgetRoutes(): void
  /** Drops modules by id with their instances. The thread names all transitive dependents. */
  evict(idsJson: string): void
  /** Starts a request. `json` is a `BeginRequest` or `InspectRequest`. Answers by `emit` with the same `requestNumber`. */
  begin(requestNumber: number, kind: BeginKind, routeId: string, json: string): void
  /** The next piece of the request's body; undefined: it is complete. */
  bodyChunk(requestNumber: number, bytes: ArrayBuffer | undefined): void
  /** The client is gone or the deadline has passed: stop working, emit nothing more for this request. */
  abort(requestNumber: number): void
  /** The consumer of a streamed answer has room again (after `emit` was answered by backpressure with `hold`). */
  resume(requestNumber: number): void
  hold(requestNumber: number): void
  /**
   * Timers that were set with `setTimer` have come: at most one of each request (and one outside of any), since what a task
   * puts into the microtask queue must run before the next task of its request.
   */
  fire(...timerIds: readonly number[]): void
  /** The outcome of `call`: JSON plus bytes; for a failed call the JSON is `EmittedError`. `isLast` is false for a piece of a stream. */
  settle(callId: number, isOk: boolean, json: string, bytes: ArrayBuffer | undefined, isLast: boolean): void
}

/** Operations that the guest may ask of the host by `call`. */
export type HostOperation =
  /**
   * json: `{requestNumber, url, method, headers, redirect, hasBody, cache?}`, bytes: request body. `cache` is `{revalidate,
   * tags, isExplicit}` for a fetch that may be answered from the data cache, and stored there. Settles first with
   * `{status, statusText, headers, url, redirected, tags?}` (isLast false; `tags` of an entry of the cache), then with body
   * pieces as bytes, last piece isLast true.
   * Those of a request that `abort` was called for do not settle any more.
   */
  | 'fetch'
  /** Aborts a fetch in flight. json: `{callId}`. Neither this call nor that fetch settles. */
  | 'fetch-abort'
  /**
   * Looks up what `unstable_cache` has kept. json: `{requestNumber, mode, parts, tags, revalidate}`. Settles with `{kind: 'hit',
   * isStale, tags}` and the entry as bytes, `{kind: 'fill', fill}` with the right to make it, or `{kind: 'pass'}`. `mode`
   * is `read`, `refresh` (the right to refresh a stale entry) or `fallback` (the entry at any age).
   */
  | 'data-read'
  /** Gives a fill back with its result. json: `{fill, tags, revalidate}`, bytes: the entry. Settles with `{isStored}`. */
  | 'data-store'
  /** Gives a fill back without one. json: `{fill, outcome}` (`pass`, `failed` or `lost`). Does not settle. */
  | 'data-end'
  /** Purges. json: `{tags, paths: {path, type?}[]}`. Settles with `{}` when nothing of it is served any more. */
  | 'purge'
  /** json: `{algorithm}`, bytes: data. Settles with the digest as bytes. */
  | 'digest'
  /** json: `{hash, key: base64}`; bytes: data. Settles with the HMAC as bytes. */
  | 'hmac'
  /** json: `{direction, key: base64, iv: base64, additionalData?: base64, tagLength}`; bytes: data. AES-GCM. */
  | 'aes-gcm'

/** Callbacks that the thread gives to `install`. All but `randomBytes` are fire-and-forget and return nothing. */
export interface HostCallbacks {
  emit(requestNumber: number, kind: EmitKind, a: string | undefined, b: string | ArrayBuffer | undefined): void
  call(callId: number, operation: HostOperation, json: string, bytes: ArrayBuffer | undefined): void
  /** `requestNumber` 0: outside of any request. */
  setTimer(timerId: number, delayMs: number, requestNumber: number): void
  clearTimer(timerId: number): void
  /** level: debug, info, warn, error. `requestNumber` 0: outside of any request. */
  log(level: string, requestNumber: number, text: string): void
  /** Synchronous. At most 65536 bytes. */
  randomBytes(count: number): ArrayBuffer
}
