import { fork } from 'node:child_process'
import cluster from 'node:cluster'
import type { Handlers } from '@svc/core'
import { hostMethods, hostParentMethods, masterMethods, workerMethods } from '@svc/protocol'
import { hostEnvironment, onlyThese, workerEnvironment } from './child-environment.ts'
import { SupervisedProcess } from './supervised-process.ts'

export type WorkerProcess = SupervisedProcess<typeof masterMethods, typeof workerMethods>
export type HostProcess = SupervisedProcess<typeof hostParentMethods, typeof hostMethods>

/** A worker or host keeps one core busy, and there are as many as cores: helper threads of the collector would only compete. */
const COMMON_FLAGS = ['--disable-warning=ExperimentalWarning', '--single-threaded-gc']
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

/**
 * In a worker, operators' patterns match attackers' paths. Past this many steps back V8 continues without backtracking, in time
 * linear in the length of the path (docs/decisions/0012-patterns-of-operators.md). A request passes many short functions: with its
 * usual budget V8 stops inlining half way, which costs a proxied request some five percent.
 */
const WORKER_FLAGS = [
  ...COMMON_FLAGS,
  '--max-inlined-bytecode-size-cumulative=2000',
  '--enable-experimental-regexp-engine-on-excessive-backtracks',
  '--regexp-backtracks-before-fallback=1000',
]

/**
 * The master's standard output in workers. Their own is discarded: the library of engine uws writes lines of its own there when it
 * gets a server name.
 */
const OUTPUT_FD = 4
const WORKER_STDIO = ['inherit', 'ignore', 'inherit', 'ipc', 1] as const

/** Forks one worker through node:cluster. */
export function launchWorker(settings: LaunchSettings, name: string, handlers: Handlers<typeof masterMethods>): WorkerProcess {
  cluster.setupPrimary({
    exec: settings.programs.worker,
    args: [],
    execArgv: WORKER_FLAGS,
    serialization: 'advanced',
    stdio: [...WORKER_STDIO],
  })
  const { runDir, maxHeaderBytes } = settings
  const wanted = workerEnvironment(process.env, { runDir, maxHeaderBytes, accessLogFd: OUTPUT_FD })
  // The type of `fork` does not admit the undefined that node:child_process leaves out.
  const worker = cluster.fork(onlyThese(process.env, wanted) as Record<string, string>)
  const onProblem = (error: Error) => settings.onProblem(name, error)
  worker.on('error', onProblem)
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
