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
  /**
   * Answers with 101; `open` of the route is called before this returns, and every later use of the response throws. Fields
   * written before it need `writeStatus` first. `protocol`: what is answered; `extensions`: what the client offered.
   */
  upgrade<State>(state: State, key: string, protocol: string, extensions: string, context: UpgradeContext): void
  /** 4 or 16 bytes; empty when the socket is gone. */
  getRemoteAddress(): ArrayBuffer
  getRemoteAddressAsText(): ArrayBuffer
}

/** Handles one request. Must never throw. */
export type HttpHandler = (res: HttpResponse, req: HttpRequest) => void

/** Stands for the route of a request that may be upgraded. */
export interface UpgradeContext {
  readonly __brand: 'us_socket_context'
}

/** An open WebSocket. Every use after it has closed throws. */
export interface WebSocket<State> {
  /** A copy of the state that it was opened with, the same one each time. */
  getUserData(): State
  /** 1: sent or in the buffer of the socket; 0: waiting for the reader; 2: dropped, `maxBackpressure` is reached. */
  send(message: RecognizedString, isBinary: boolean): 0 | 1 | 2
  /** Bytes that wait for the reader. */
  getBufferedAmount(): number
  /** Sends a close frame and ends; `close` is called before this returns. */
  end(code?: number, reason?: RecognizedString): void
  /** Cuts the connection; `close` is called before this returns. */
  close(): void
}

/** How a route speaks WebSocket. Handlers may throw: it becomes an uncaught exception. */
export interface WebSocketBehavior<State> {
  readonly compression: number
  /** Longest message in bytes; a longer one cuts the connection. */
  readonly maxPayloadLength: number
  /** Seconds without a sign of life, 8 to 960. */
  readonly idleTimeout: number
  readonly sendPingsAutomatically: boolean
  readonly maxBackpressure: number
  readonly closeOnBackpressureLimit: boolean
  readonly maxLifetime: number
  /** GET requests with a Sec-WebSocket-Key of 24 characters. Same rules as for a handler. */
  upgrade(res: HttpResponse, req: HttpRequest, context: UpgradeContext): void
  open(socket: WebSocket<State>): void
  /** `message` is detached after the call. */
  message(socket: WebSocket<State>, message: ArrayBuffer, isBinary: boolean): void
  drain(socket: WebSocket<State>): void
  /** Which has been answered. */
  ping(socket: WebSocket<State>): void
  close(socket: WebSocket<State>, code: number, reason: ArrayBuffer): void
}

/** Routes and sockets of one listener. */
export interface TemplatedApp {
  any(pattern: string, handler: HttpHandler): this
  get(pattern: string, handler: HttpHandler): this
  /** A route for WebSockets; comes before those of `get`. */
  ws<State>(pattern: string, behavior: WebSocketBehavior<State>): this
  /** Called with +1 for each connection opened and -1 for each closed; never -1 for one that was upgraded. */
  filter(listener: (res: HttpResponse, change: number) => void): this
  /** Listens with SO_REUSEPORT unless the port is 0; the callback runs before this returns. */
  listen(host: string, port: number, callback: (socket: ListenSocket | false) => void): this
  /** Listens on a unix socket. Whatever lies at the path is removed first. */
  listen_unix(callback: (socket: ListenSocket | false) => void, path: string): this
  /**
   * Adds a server name with a certificate, and routes of its own that `domain` chooses. "*" stands for one label; case counts. What cannot
   * be read is passed over in silence, and so is a name that was added before. Never take one away while connections have it.
   */
  addServerName(name: string, options: SslOptions): this
  /** Takes a server name away and gives its memory back. With a connection of that name the process crashes later. */
  removeServerName(name: string): this
  /** Says for which server name routes are added from now on. Prints a line to standard output. */
  domain(name: string): this
  /** Called in a handshake with a server name that was not added. What it adds is used at once. */
  missingServerName(listener: (name: string) => void): this
  getDescriptor(): AppDescriptor
  /** Has this one, which listens, hand its connections to those that were added, in turns. */
  addChildAppDescriptor(child: AppDescriptor): this
  removeChildAppDescriptor(child: AppDescriptor): this
  /** Closes listen sockets and all connections at once. */
  close(): this
}

/** Names an app to other apps of the process. */
export interface AppDescriptor {
  readonly __brand: 'us_app'
}

/** TLS settings; paths of PEM files. */
export interface SslOptions {
  readonly cert_file_name: string
  readonly key_file_name: string
  /** Ciphers of TLS 1.2, as OpenSSL names them. */
  readonly ssl_ciphers?: string
}

export function App(): TemplatedApp
/** Throws when the certificate or key cannot be used. Speaks TLS 1.2 and 1.3. */
export function SSLApp(options: SslOptions): TemplatedApp
/** Stops accepting on a listen socket; connections live on. */
export function us_listen_socket_close(socket: ListenSocket): void
export function us_socket_local_port(socket: ListenSocket): number
/** `_cfg('silent')`: no `uWebSockets` field in responses. For the whole process. */
export function _cfg(key: 'silent'): void

declare const uws: {
  readonly App: typeof App
  readonly SSLApp: typeof SSLApp
  readonly us_listen_socket_close: typeof us_listen_socket_close
  readonly us_socket_local_port: typeof us_socket_local_port
  readonly _cfg: typeof _cfg
}
export default uws
