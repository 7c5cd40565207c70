/** Text or bytes. Strings are written as UTF-8; buffers are copied during the call. */
export type RecognizedString = string | ArrayBuffer | Uint8Array

/** Names a listen socket until it is closed. */
export interface ListenSocket {
  readonly __brand: 'us_listen_socket'
}

/** A request. Valid only until its handler returns. */
export interface HttpRequest {
  /** Visits the fields in order: lower-case names, values decoded as UTF-8. Fields behind an empty name are not shown. */
  forEach(visit: (name: string, value: string) => void): void
  /** First value of a field, or "". */
  getHeader(lowerCaseName: string): string
  getCaseSensitiveMethod(): string
  /** Path as sent, without query. */
  getUrl(): string
  /** Query as sent without "?", or undefined when the target has none. */
  getQuery(): string | undefined
}

/** A response. Every use after it was ended, closed or aborted throws. */
export interface HttpResponse {
  /** Must be set before the handler returns, unless the response is ended by then. The last one set counts. */
  onAborted(listener: () => void): this
  /** Must be set before the handler returns. `chunk` is detached after the call. Called once with an empty last chunk when there is no body. */
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): this
  /** Called when the socket takes more; `offset` is what `tryEnd` has written so far. Buffered bytes move only with the next write or cork. */
  onWritable(listener: (offset: number) => boolean): this
  /** Sets status code and reason, e.g. "404 Not Found"; the first call counts. Default "200 OK". */
  writeStatus(status: RecognizedString): this
  /** Writes one field. Nothing is checked: CR and LF in it are sent as they are. */
  writeHeader(name: RecognizedString, value: RecognizedString): this
  /** Writes one chunk in chunked framing. False: bytes were buffered, wait for `onWritable`. */
  write(chunk: RecognizedString): boolean
  /** Ends with a Content-Length, or ends the chunks that were written. */
  end(body?: RecognizedString, closeConnection?: boolean): this
  /** Ends without Content-Length. The call with arguments is broken for HEAD: never pass any. */
  endWithoutBody(): this
  /** Writes as much as fits of a body of `totalBytes`; [all of it taken, response complete]. */
  tryEnd(bodyOrChunk: RecognizedString, totalBytes: number): [isTaken: boolean, isDone: boolean]
  /** Cuts the connection; `onAborted` is called. */
  close(): this
  /** Runs `writer` so that what it writes leaves in one piece. */
  cork(writer: () => void): this
  /** Stops reading; what the kernel already gave still comes. */
  pause(): void
  /** Reads on and starts the ten seconds of the idle timer again. Only after `pause`: otherwise nothing is read any more. */
  resume(): void
  getWriteOffset(): number
  /** 4 or 16 bytes; empty when the socket is gone. */
  getRemoteAddress(): ArrayBuffer
  getRemoteAddressAsText(): ArrayBuffer
}

/** Handles one request. Must never throw. */
export type HttpHandler = (res: HttpResponse, req: HttpRequest) => void

/** Routes and sockets of one listener. */
export interface TemplatedApp {
  any(pattern: string, handler: HttpHandler): this
  get(pattern: string, handler: HttpHandler): this
  /** Called with +1 for each connection opened and -1 for each closed. */
  filter(listener: (res: HttpResponse, change: number) => void): this
  /** Listens with SO_REUSEPORT unless the port is 0; the callback runs before this returns. */
  listen(host: string, port: number, callback: (socket: ListenSocket | false) => void): this
  /** Closes listen sockets and all connections at once. */
  close(): this
}

export function App(): TemplatedApp
/** Stops accepting on a listen socket; connections live on. */
export function us_listen_socket_close(socket: ListenSocket): void
export function us_socket_local_port(socket: ListenSocket): number
/** `_cfg('silent')`: no `uWebSockets` field in responses. For the whole process. */
export function _cfg(key: 'silent'): void

declare const uws: {
  readonly App: typeof App
  readonly us_listen_socket_close: typeof us_listen_socket_close
  readonly us_socket_local_port: typeof us_socket_local_port
  readonly _cfg: typeof _cfg
}
export default uws
