import { type ChildProcess, fork } from 'node:child_process'
import { Child, type Cleanup, svcCommand } from '@svc/testkit'

/** Result of a command. */
export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Command {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

interface Options {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

function environment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || name.startsWith('SVC_') || name === 'NODE_OPTIONS' ? [] : [[name, value]],
  )
  return { ...Object.fromEntries(inherited), ...extra }
}

/** Runs the command that was built, as a user would, and waits for its end. */
export async function startSvc(
  t: Cleanup,
  args: readonly string[],
  options: Options & { readonly input?: string | Buffer } = {},
): Promise<Outcome> {
  const { cwd = '/', input } = options
  const stdin = input === undefined ? 'ignore' : 'pipe'
  const child = new Child(t, svcCommand, args, { cwd, env: environment(options.env), stdin })
  // A command may end before it has read all.
  child.process.stdin?.on('error', () => undefined).end(input)
  const { code } = await child.exited
  return { code, stdout: child.stdout, stderr: child.stderr }
}

let resident: ChildProcess | undefined
let last: Promise<unknown> = Promise.resolve()

/** The process for commands of this test file. It ends with the process of the test. */
function residentProcess(): ChildProcess {
  if (resident?.connected) return resident
  const child = fork(new URL('./resident-commands.ts', import.meta.url), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  resident = child
  return child
}

/** The test waits for its own command, and not for a process without one. */
function keepWaiting(child: ChildProcess, isWaiting: boolean): void {
  const call = isWaiting ? 'ref' : 'unref'
  child[call]()
  child.channel?.[call]()
}

async function runResident(command: Command): Promise<Outcome> {
  const child = residentProcess()
  keepWaiting(child, true)
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
  const ended = (code: number | null) =>
    reject(new Error(`the process for commands ended with ${code} in: svc ${command.args.join(' ')}`))
  const received = (reply: Outcome | { readonly failure: string }) => {
    if ('failure' in reply) reject(new Error(reply.failure))
    else resolve(reply)
  }
  child.once('exit', ended).once('error', reject).once('message', received)
  child.send(command)
  try {
    return await promise
  } finally {
    child.off('exit', ended).off('error', reject).off('message', received)
    keepWaiting(child, false)
  }
}

/**
 * Runs a command and waits for its end, in a process that runs the commands of many tests: its start would take ten times longer than
 * the command. For `serve`, standard input and exits of the program see `startSvc`.
 */
export function runSvc(args: readonly string[], options: Options = {}): Promise<Outcome> {
  const command = { args, cwd: options.cwd ?? '/', env: environment(options.env) }
  const outcome = last.then(() => runResident(command))
  last = outcome.catch(() => undefined)
  return outcome
}
