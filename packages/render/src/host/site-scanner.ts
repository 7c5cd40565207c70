import { type ChildProcess, fork } from 'node:child_process'
import { codeOf, createIpcChannel, Gate, type ReplyOf, type RequestOf, RpcPeer, withDeadline } from '@svc/core'
import { PROTOCOL_VERSION } from '@svc/protocol'
import type { LossReason } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { scanMethods, scanParentMethods } from '../scan/scan-methods.ts'

/** The directory to scan, and the files to look for. */
type ScanRequest = RequestOf<typeof scanMethods.scan>
/** The result of a scan. */
export type SiteScan = ReplyOf<typeof scanMethods.scan>

/** How the processes of a scanner are run. */
interface SiteScannerOptions {
  /** Path of the program of scan processes. */
  readonly program: string
  /** @default 10,000 ms */
  readonly timeoutMs?: number
}

/** A scan takes milliseconds; one that takes this long is ended, with its process. */
const SCAN_TIMEOUT_MS = 10_000
/** A site that holds its process for all that time must not hold up all others. */
const MAX_PROCESSES = 4
/** A process without work is ended after this time. */
const IDLE_MS = 10_000
/** How long the end of a process may come after that of its pipe. */
const EXIT_MS = 1_000
/** Enough for a site at the limits of a scan. */
const EXEC_ARGV = ['--disable-warning=ExperimentalWarning', '--single-threaded-gc', '--max-old-space-size=256']

/** A process that scans one directory at a time. */
interface ScanProcess {
  readonly child: ChildProcess
  readonly peer: RpcPeer<typeof scanParentMethods, typeof scanMethods>
  /** Resolves with how it ended. */
  readonly exited: Promise<string>
  hasExited: boolean
  idleTimer: NodeJS.Timeout | undefined
}

/**
 * Scans directories of sites in processes that are started when there is something to scan and end when there is nothing more.
 * Nothing that is in a directory reaches the process that asks but the manifest, which is bounded.
 */
export class SiteScanner {
  readonly #options: SiteScannerOptions
  readonly #gate = new Gate(MAX_PROCESSES)
  readonly #all = new Set<ScanProcess>()
  readonly #idle: ScanProcess[] = []
  /** Directories whose scan was ended, while its process is still there: it hangs in a call to the file system. */
  readonly #hung = new Set<string>()
  #isClosed = false

  constructor(options: SiteScannerOptions) {
    this.#options = options
  }

  /**
   * Scans a directory. At most one scan of a site should run at a time.
   * @throws RENDER_SCAN with the `reason` in its data when the scan has to be ended or crashes; RENDER_DRAINING after `close`
   */
  scan(request: ScanRequest): Promise<SiteScan> {
    return this.#gate.run(() => this.#scan(request))
  }

  /** Ends all processes at once. */
  close(): void {
    this.#isClosed = true
    for (const one of this.#all) one.child.kill('SIGKILL')
  }

  async #scan(request: ScanRequest): Promise<SiteScan> {
    if (this.#isClosed) throw new RenderError('RENDER_DRAINING', 'the render host is ending')
    if (this.#hung.has(request.root)) throw failed(request.root, 'timeout', 'hangs in the file system and cannot be ended')
    const { timeoutMs = SCAN_TIMEOUT_MS } = this.#options
    const one = this.#idle.pop() ?? this.#start()
    clearTimeout(one.idleTimer)
    try {
      const found = await one.peer.call('scan', request, { timeoutMs })
      this.#rest(one)
      return found
    } catch (error) {
      if (this.#isClosed) throw new RenderError('RENDER_DRAINING', 'the render host is ending')
      if (codeOf(error) === 'CORE_TIMEOUT') {
        this.#cut(one, request.root)
        throw failed(request.root, 'timeout', `took longer than ${timeoutMs} ms`, error)
      }
      const end = await withDeadline(one.exited, EXIT_MS, 'end of a scan process').catch(() => 'its pipe was closed')
      this.#cut(one, request.root)
      throw failed(request.root, 'crash', `failed: its process ended (${end})`, error)
    }
  }

  #cut({ child, exited, hasExited }: ScanProcess, root: string): void {
    if (hasExited) return
    child.kill('SIGKILL')
    this.#hung.add(root)
    const gone = () => this.#hung.delete(root)
    exited.then(gone, gone)
  }

  #start(): ScanProcess {
    const child = fork(this.#options.program, [], {
      execArgv: EXEC_ARGV,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {},
    })
    const { promise: exited, resolve } = Promise.withResolvers<string>()
    const one: ScanProcess = { child, peer: this.#connect(child), exited, hasExited: false, idleTimer: undefined }
    this.#all.add(one)
    const gone = (end: string) => {
      one.hasExited = true
      this.#all.delete(one)
      const at = this.#idle.indexOf(one)
      if (at !== -1) this.#idle.splice(at, 1)
      one.peer.close()
      resolve(end)
    }
    child.on('exit', (code, signal) => gone(signal ?? `exit code ${code}`))
    child.on('error', (error) => gone(error.message))
    return one
  }

  #connect(child: ChildProcess): ScanProcess['peer'] {
    return new RpcPeer({
      channel: createIpcChannel(child),
      local: scanParentMethods,
      handlers: {},
      remote: scanMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'scan process',
      // A frame that is not understood closes the peer, and so fails the scan.
      onProblem: () => child.kill('SIGKILL'),
    })
  }

  #rest(one: ScanProcess): void {
    if (one.hasExited) return
    this.#idle.push(one)
    one.idleTimer = setTimeout(() => one.child.kill('SIGKILL'), IDLE_MS)
    one.idleTimer.unref()
  }
}

function failed(root: string, reason: LossReason, why: string, cause?: unknown): RenderError {
  return new RenderError('RENDER_SCAN', `the scan of ${root} ${why}`, { cause, data: { reason } })
}
