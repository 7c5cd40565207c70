import { codeOf } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { printData } from '../command-line/output.ts'
import { type SourceArgs, withServerOptions } from '../command-line/source-options.ts'
import { findServer } from '../control/control-client.ts'

interface StopArgs extends SourceArgs {
  readonly timeout: number
}

const ANSWER_TIMEOUT_MS = 10_000
const DEFAULT_TIMEOUT_SECS = 60
const PROBE_INTERVAL_MS = 50

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user lives too.
    return codeOf(error) === 'EPERM'
  }
}

/** Polls a process until the deadline: the end of a process that is no child gives no event. */
function hasEnded(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const probe = () => {
    if (!isAlive(pid)) resolve(true)
    else if (performance.now() >= deadline) resolve(false)
    else setTimeout(probe, PROBE_INTERVAL_MS)
  }
  probe()
  return promise
}

/** `svc stop`: a graceful stop, awaited. */
export const stopCommand = command<StopArgs>({
  usage: 'stop',
  describe: 'Stop the server gracefully and wait until it has exited',
  options: (yargs) =>
    withServerOptions(yargs)
      .option('timeout', {
        type: 'number',
        requiresArg: true,
        default: DEFAULT_TIMEOUT_SECS,
        describe: 'Seconds to wait; 0: do not wait',
      })
      .example('$0 stop', 'requests in flight finish first'),
  run: async ({ timeout, ...args }) => {
    if (!(timeout >= 0)) throw new CliError('CLI_USAGE', '--timeout must be a number of seconds')
    const ask = await findServer(args)
    const { pid } = await ask('stop', undefined, ANSWER_TIMEOUT_MS)
    if (timeout === 0) {
      printData(`stopping ${pid}`)
      return ExitCode.ok
    }
    if (!(await hasEnded(pid, timeout * 1000))) {
      throw new CliError('CLI_NOT_DONE', `${pid} is still draining after ${timeout} s`)
    }
    printData(`stopped ${pid}`)
    return ExitCode.ok
  },
})
