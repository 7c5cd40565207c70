import { setTimeout as delay } from 'node:timers/promises'
import { ExitCode, type RestartStatus } from '@svc/protocol'
import { command, commandGroup } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { printData, printJson, printMessage, printResult } from '../command-line/output.ts'
import { type ServerArgs, siteArgument, withJson } from '../command-line/source-options.ts'
import { findServer } from '../control/control-client.ts'

const ANSWER_TIMEOUT_MS = 10_000
/** New isolates are warmed before they take over. */
const FLUSH_TIMEOUT_MS = 90_000
/** The server reports progress only when it is asked. */
const ASK_INTERVAL_MS = 100

interface FlushArgs extends ServerArgs {
  readonly site: string
}

const flush = command<FlushArgs>({
  usage: 'flush <site>',
  describe: 'Give a site fresh isolates; requests in flight finish on the old ones',
  options: (yargs) =>
    withJson(yargs).positional('site', siteArgument).example('$0 isolate flush blog', 'if the state of its modules is stale'),
  run: async ({ json, site, ...args }) => {
    const ask = await findServer(args)
    const { isolates } = await ask('flushIsolates', { site }, FLUSH_TIMEOUT_MS)
    const text = `${site}: ${isolates} ${isolates === 1 ? 'isolate' : 'isolates'} replaced`
    return printResult(json, { layer: 'isolates', purged: isolates, site }, text)
  },
})

/** `svc isolate` with its command. */
export const isolateCommands = commandGroup({
  name: 'isolate',
  describe: 'Replace the isolates of a site',
  example: ['$0 isolate flush blog', 'replace the isolates of one site'],
  commands: { flush },
})

/** Follows a restart to its end and prints every step. */
async function follow(ask: Awaited<ReturnType<typeof findServer>>, begun: RestartStatus): Promise<RestartStatus> {
  let status = begun
  while (status.state === 'running') {
    await delay(ASK_INTERVAL_MS)
    const { status: next } = await ask('restartStatus', { id: begun.id, wait: false }, ANSWER_TIMEOUT_MS)
    if (next === undefined) throw new CliError('CLI_UNAVAILABLE', 'the server was restarted meanwhile')
    if (next.replaced !== status.replaced) printMessage(`${next.replaced} of ${next.total} render hosts replaced`)
    status = next
  }
  return status
}

const restart = command<ServerArgs>({
  usage: 'restart',
  describe: 'Replace all render hosts one after another; no request fails',
  options: (yargs) => withJson(yargs).example('$0 workers restart', 'replace them and wait until it is done'),
  run: async ({ json, ...args }) => {
    const ask = await findServer(args)
    const { id, state, replaced, total, error } = await follow(ask, await ask('restartRenderers', undefined, ANSWER_TIMEOUT_MS))
    if (json) printJson({ restart_id: id, state, replaced, total, ...(error === undefined ? {} : { error }) })
    if (state === 'failed') {
      throw new CliError('CLI_NOT_DONE', `${replaced} of ${total} render hosts were replaced: ${error ?? 'no reason given'}`)
    }
    if (!json) printData(`replaced ${replaced} render hosts`)
    return ExitCode.ok
  },
})

/** `svc workers` with its command. */
export const workersCommands = commandGroup({
  name: 'workers',
  describe: 'Restart the render hosts',
  example: ['$0 workers restart', 'if rendering is slow or faulty'],
  commands: { restart },
})
