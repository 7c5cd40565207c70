import { fork } from 'node:child_process'
import cluster from 'node:cluster'
import { Readable } from 'node:stream'
import { CHILD_FLAGS, type Handlers } from '@svc/core'
import { hostMethods, hostParentMethods, masterMethods, workerMethods } from '@svc/protocol'
import { SupervisedProcess } from './supervised-process.ts'

export type WorkerProcess = SupervisedProcess<typeof masterMethods, typeof workerMethods>
export type HostProcess = SupervisedProcess<typeof hostParentMethods, typeof hostMethods>

/**
 * A worker or host keeps one core busy, and there are as many as cores: helper threads of the collector would only compete. With
 * most other flags of V8 Node recompiles its own modules at each start; a worker sets its flags itself.
 */
const COMMON_FLAGS = [...CHILD_FLAGS, '--single-threaded-gc']
/**
 * isolated-vm requires the first. V8 sizes the young generation of an isolate by its memory limit; without the others large
 * pages take two to four times as long.
 */
const HOST_FLAGS = [...COMMON_FLAGS, '--no-node-snapshot', '--max-semi-space-size=16', '--min-semi-space-size=1']

/** Paths of the programs, and the facts of the machine for them. */
export interface LaunchSettings {
  readonly programs: { readonly worker: string; readonly renderHost: string }
  readonly runDir: string
  readonly maxHeaderBytes: number
  readonly onProblem: (name: string, error: Error) => void
}

/** Further options of the launch of a worker. */
interface WorkerLaunchSettings extends LaunchSettings {
  /** Reads the lines of log files that a worker sends, until the stream ends. */
  readonly receiveLines: (stream: Readable) => void
  /** Descriptors of listening sockets that it gets. */
  readonly sockets: readonly number[]
}

/**
 * The master's standard output in workers. Their own is discarded: the library of engine uws writes lines of its own there when it
 * gets a server name.
 */
const OUTPUT_FD = 4
/** Lines for log files, which the master alone writes. */
const LINES_FD = 5
const WORKER_STDIO = ['inherit', 'ignore', 'inherit', 'ipc', 1, 'pipe'] as const

/** Returns the descriptor in a worker of the socket at this index of its `sockets`. */
export function workerSocketFd(index: number): number {
  return WORKER_STDIO.length + index
}

/** Variables of the master's environment that child programs need. All others, including secrets, stay with the master. */
const HOST_KEYS = ['PATH', 'TZ', 'LANG', 'NODE_COMPILE_CACHE', 'JOURNAL_STREAM'] as const
const WORKER_KEYS = [...HOST_KEYS, 'LC_ALL', 'HOME', 'TMPDIR', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const

type Environment = Readonly<Record<string, string | undefined>>

function pick(env: Environment, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]])))
}

/**
 * Returns the environment of a render host: of the operator's values only path, time zone, language and the stream of the journal. Without the allocator
 * settings every larger string that leaves an isolate costs fresh pages of the kernel.
 */
function hostEnvironment(env: Environment, runDir: string): Record<string, string> {
  return {
    ...pick(env, HOST_KEYS),
    SVC_RUN_DIR: runDir,
    MALLOC_MMAP_THRESHOLD_: '33554432',
    MALLOC_TRIM_THRESHOLD_: '134217728',
    MALLOC_TOP_PAD_: '16777216',
  }
}

/** Forks one worker through node:cluster. */
export function launchWorker(
  settings: WorkerLaunchSettings,
  name: string,
  handlers: Handlers<typeof masterMethods>,
): WorkerProcess {
  cluster.setupPrimary({
    exec: settings.programs.worker,
    args: [],
    execArgv: COMMON_FLAGS,
    serialization: 'advanced',
    stdio: [...WORKER_STDIO, ...settings.sockets],
  })
  const environment = {
    // node:cluster adds the master's whole environment to the given one; a key set to undefined is left out.
    ...Object.fromEntries(Object.keys(process.env).map((key) => [key, undefined])),
    ...pick(process.env, WORKER_KEYS),
    SVC_RUN_DIR: settings.runDir,
    SVC_ACCESS_LOG_FD: String(OUTPUT_FD),
    SVC_LINES_FD: String(LINES_FD),
    // Engine uws reads this when it loads, and from nowhere else.
    UWS_HTTP_MAX_HEADERS_SIZE: String(settings.maxHeaderBytes),
  }
  // The type of `fork` does not admit undefined.
  const worker = cluster.fork(environment as Record<string, string>)
  const onProblem = (error: Error) => settings.onProblem(name, error)
  worker.on('error', onProblem)
  const lines = (worker.process.stdio as readonly unknown[])[LINES_FD]
  if (lines instanceof Readable) settings.receiveLines(lines)
  return new SupervisedProcess({ child: worker.process, name, local: masterMethods, handlers, remote: workerMethods, onProblem })
}

/** Forks one render host. */
export function launchHost(settings: LaunchSettings, name: string, handlers: Handlers<typeof hostParentMethods>): HostProcess {
  const child = fork(settings.programs.renderHost, [], {
    env: hostEnvironment(process.env, settings.runDir),
    execArgv: HOST_FLAGS,
    serialization: 'advanced',
  })
  const onProblem = (error: Error) => settings.onProblem(name, error)
  return new SupervisedProcess({ child, name, local: hostParentMethods, handlers, remote: hostMethods, onProblem })
}
