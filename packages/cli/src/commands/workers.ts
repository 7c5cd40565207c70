import { setTimeout as delay } from 'node:timers/promises'
import { ExitCode, type RestartStatus } from '@svc/protocol'
import type { Argv } from 'yargs'
import { addCommand, type Command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { printData, printJson, printMessage } from '../command-line/output.ts'
import { type SourceArgs, withServerOptions } from '../command-line/source-options.ts'
import { askServer, findControlSocket } from '../control/control-client.ts'

interface WorkersArgs extends SourceArgs {
  readonly json: boolean
}

const ANSWER_TIMEOUT_MS = 10_000
/** The server tells of progress only when it is asked. */
const ASK_INTERVAL_MS = 100

async function statusOf(socket: string, id: string): Promise<RestartStatus> {
  const request = { id, wait: false }
  const { status } = await askServer(socket, { method: 'restartStatus', request, timeoutMs: ANSWER_TIMEOUT_MS })
  if (status === undefined) throw new CliError('CLI_UNAVAILABLE', 'the server was restarted meanwhile')
  return status
}

/** Follows a restart to its end and tells of every step. */
async function follow(socket: string, begun: RestartStatus): Promise<RestartStatus> {
  let status = begun
  while (status.state === 'running') {
    await delay(ASK_INTERVAL_MS)
    const next = await statusOf(socket, begun.id)
    if (next.replaced !== status.replaced) printMessage(`${next.replaced} of ${next.total} render hosts replaced`)
    status = next
  }
  return status
}

const restartCommand: Command<WorkersArgs> = {
  usage: 'restart',
  describe: 'Replace all render hosts one after another; no request fails',
  options: (yargs) =>
    withServerOptions(yargs)
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 workers restart', 'replace them and wait until it is done'),
  run: async (args) => {
    const socket = await findControlSocket(args)
    const call = { method: 'restartRenderers', request: undefined, timeoutMs: ANSWER_TIMEOUT_MS } as const
    const ended = await follow(socket, await askServer(socket, call))
    const { id, state, replaced, total, error } = ended
    if (args.json) printJson({ restart_id: id, state, replaced, total, ...(error === undefined ? {} : { error }) })
    if (state === 'failed') {
      throw new CliError('CLI_NOT_DONE', `${replaced} of ${total} render hosts were replaced: ${error ?? 'no reason given'}`)
    }
    if (!args.json) printData(`replaced ${replaced} render hosts`)
    return ExitCode.ok
  },
}

/** Adds `svc workers` with its commands. */
export function addWorkersCommands(yargs: Argv, settle: (exitCode: number) => void): Argv {
  return yargs.command('workers', 'Restart the render hosts', (workers: Argv) => {
    addCommand(workers, restartCommand, settle)
    return workers
      .demandCommand(1, 'Name a command: restart.')
      .strict()
      .example('$0 workers restart', 'if rendering is slow or faulty')
  })
}
