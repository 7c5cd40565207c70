import { type ChildProcess, fork } from 'node:child_process'
import { CompileError } from '@svc/compile/caches'
import { asError, codeOf, createIpcChannel, type ReplyOf, type RequestOf, RpcPeer, withDeadline } from '@svc/core'
import { PROTOCOL_VERSION } from '@svc/protocol'
import { scanMethods, scanParentMethods } from '../contract/scan-methods.ts'
import type { LossReason } from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { codeCacheEnvironment } from './code-cache-environment.ts'
import { type ScanLaunch, SETPRIV, scanLaunch } from './scan-launch.ts'
import { ScanTurns } from './scan-turns.ts'

/** The directory to scan, and the files to look for. */
type ScanRequest = RequestOf<typeof scanMethods.scan>
/** The result of a scan. */
export type SiteScan = ReplyOf<typeof scanMethods.scan>
/** The modules to compile, and of which site. */
type CompileRequest = RequestOf<typeof scanMethods.compile>
export type CompileReply = ReplyOf<typeof scanMethods.compile>

/** How the processes of a scanner are run. */
interface SiteScannerOptions {
  /** Path of the program of scan processes. */
  readonly program: string
  /** @default 10,000 ms */
  readonly timeoutMs?: number
  /** @default 30,000 ms */
  readonly compileTimeoutMs?: number
  /** Program that has a process end with its parent. @default /usr/bin/setpriv */
  readonly setpriv?: string
}

/** A scan takes milliseconds; one that takes this long is ended, with its process. */
const SCAN_TIMEOUT_MS = 10_000
/** For one batch of modules, which takes less than a second. */
const COMPILE_TIMEOUT_MS = 30_000
/** A process without work is ended after this time. */
const IDLE_MS = 60_000
/** How long the end of a process may come after that of its pipe, or after its signal. */
const EXIT_MS = 2_000

type ScanPeer = RpcPeer<typeof scanParentMethods, typeof scanMethods>

/** A job for a process, and its error when the process cannot answer. */
interface ScanTask<Reply> {
  readonly root: string
  readonly ask: (peer: ScanPeer) => Promise<Reply>
  readonly timeoutMs: number
  readonly failed: (reason: LossReason, why: string, cause?: unknown) => Error
}

/** A process that scans one directory, or compiles modules of one site, at a time. */
interface ScanProcess {
  readonly child: ChildProcess
  readonly peer: ScanPeer
  /** Resolves with how it ended. */
  readonly exited: Promise<string>
  hasExited: boolean
  idleTimer: NodeJS.Timeout | undefined
}

/** Why a process that scans or compiles was lost. */
export function reasonOf(error: Error & { readonly data?: { readonly reason?: LossReason } }): LossReason {
  return error.data?.reason ?? 'crash'
}

/**
 * Scans directories of sites, and compiles their modules, in processes that are started when there is something to do and end when
 * there is nothing more. Only the manifest and the imports of modules, which are bounded, reach the process that asks.
 */
export class SiteScanner {
  readonly #options: SiteScannerOptions
  readonly #turns = new ScanTurns()
  readonly #all = new Set<ScanProcess>()
  readonly #idle: ScanProcess[] = []
  /** Directories whose scan or compilation was ended, while its process is still there: it hangs in a call to the file system. */
  readonly #hung = new Set<string>()
  #launch: ScanLaunch | undefined
  #isClosed = false

  constructor(options: SiteScannerOptions) {
    this.#options = options
  }

  /**
   * Scans a directory. At most one scan of a site should run at a time.
   * @throws RENDER_SCAN with the `reason` in its data when the scan has to be ended or crashes; RENDER_DRAINING after `close`
   */
  scan(request: ScanRequest): Promise<SiteScan> {
    const { timeoutMs = SCAN_TIMEOUT_MS } = this.#options
    const failed = (reason: LossReason, why: string, cause?: unknown) =>
      new RenderError('RENDER_SCAN', `the scan of ${request.root} ${why}`, { cause, data: { reason } })
    const ask = (peer: ScanPeer) => peer.call('scan', request, { timeoutMs })
    return this.#run({ root: request.root, ask, timeoutMs, failed })
  }

  /**
   * Compiles modules of a site. At most one call for a site should run at a time.
   * @throws RENDER_COMPILE with the `reason` in its data when the process has to be ended or crashes; RENDER_DRAINING after `close`
   */
  compile(request: CompileRequest): Promise<CompileReply> {
    const { compileTimeoutMs: timeoutMs = COMPILE_TIMEOUT_MS } = this.#options
    const [first = '', ...others] = request.modules.ids
    const what = others.length === 0 ? first : `${first} or one of ${others.length} modules beside it`
    const failed = (reason: LossReason, why: string, cause?: unknown) =>
      new CompileError('RENDER_COMPILE', `the compilation of ${what} ${why}`, { cause, data: { reason } })
    const ask = (peer: ScanPeer) => peer.call('compile', request, { timeoutMs })
    return this.#run({ root: request.root, ask, timeoutMs, failed })
  }

  /** Ends all processes at once. */
  close(): void {
    this.#isClosed = true
    for (const one of this.#all) one.child.kill('SIGKILL')
  }

  #run<Reply>(task: ScanTask<Reply>): Promise<Reply> {
    return this.#turns.run(task.root, async () => {
      if (this.#hung.has(task.root)) throw task.failed('timeout', 'hangs in the file system and cannot be ended')
      const idle = this.#idle.pop()
      try {
        if (idle !== undefined) return await this.#ask(idle, task)
      } catch (error) {
        // The process may have been ended from outside, or another site may have ruined it: only a new one tells.
        if (reasonOf(asError(error)) !== 'crash') throw error
      }
      return await this.#ask(this.#start(), task)
    })
  }

  async #ask<Reply>(one: ScanProcess, { root, ask, timeoutMs, failed }: ScanTask<Reply>): Promise<Reply> {
    if (this.#isClosed) throw new RenderError('RENDER_DRAINING', 'the render host is ending')
    clearTimeout(one.idleTimer)
    try {
      const found = await ask(one.peer)
      this.#rest(one)
      return found
    } catch (error) {
      const isTimeout = codeOf(error) === 'CORE_TIMEOUT'
      if (isTimeout) one.child.kill('SIGKILL')
      const end = await withDeadline(one.exited, EXIT_MS, 'end of a scan process').catch(() => 'its pipe was closed')
      this.#cut(one, root)
      if (this.#isClosed) throw new RenderError('RENDER_DRAINING', 'the render host is ending')
      if (isTimeout) throw failed('timeout', `took longer than ${timeoutMs} ms`, error)
      throw failed('crash', `failed: its process ended (${end})`, error)
    }
  }

  /** Kills a process. Until it has ended, nothing more is asked about the directory. */
  #cut({ child, exited, hasExited }: ScanProcess, root: string): void {
    if (hasExited) return
    child.kill('SIGKILL')
    this.#hung.add(root)
    const gone = () => this.#hung.delete(root)
    exited.then(gone, gone)
  }

  #start(): ScanProcess {
    const { program, setpriv = SETPRIV } = this.#options
    this.#launch ??= scanLaunch(setpriv)
    const { execPath, execArgv, args } = this.#launch
    const child = fork(program, args, {
      execPath,
      execArgv: [...execArgv],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: codeCacheEnvironment(),
    })
    const { promise: exited, resolve } = Promise.withResolvers<string>()
    const one: ScanProcess = { child, peer: this.#connect(child), exited, hasExited: false, idleTimer: undefined }
    this.#all.add(one)
    const gone = (end: string) => {
      one.hasExited = true
      this.#all.delete(one)
      this.#forget(one)
      one.peer.close()
      resolve(end)
    }
    child.on('exit', (code, signal) => gone(signal ?? `exit code ${code}`))
    child.on('error', (error) => gone(error.message))
    return one
  }

  #connect(child: ChildProcess): ScanPeer {
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
    one.idleTimer = setTimeout(() => {
      this.#forget(one)
      one.child.kill('SIGKILL')
    }, IDLE_MS)
    one.idleTimer.unref()
  }

  #forget(one: ScanProcess): void {
    const at = this.#idle.indexOf(one)
    if (at !== -1) this.#idle.splice(at, 1)
  }
}
