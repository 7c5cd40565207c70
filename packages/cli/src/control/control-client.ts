import { once } from 'node:events'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { codeOf, connectUnix, createSocketChannel, messageOf, type ReplyOf, type RequestOf, RpcPeer } from '@svc/core'
import { controlClientMethods, controlMethods, PROTOCOL_VERSION } from '@svc/protocol'
import { CliError } from '../command-line/errors.ts'
import { printProblems } from '../command-line/output.ts'
import { configSource, type SourceArgs } from '../command-line/source-options.ts'

type ControlMethods = typeof controlMethods
type Peer = RpcPeer<typeof controlClientMethods, ControlMethods>

/** True if neither an option nor the environment names a configuration: no file can be wrong. */
function isNothingNamed(args: SourceArgs): boolean {
  return args.config === undefined && args.dir === undefined && !process.env['SVC_CONFIG']
}

/**
 * Finds the run directory of the instance that the options mean.
 * @throws CLI_UNAVAILABLE when there is no configuration to find it by, CLI_CONFIG when that cannot be read
 */
export async function findRunDir(args: SourceArgs): Promise<string> {
  const { findConfigFile, findRunDirectory } = await import('@svc/config')
  const source = configSource(args)
  const found = await findRunDirectory(source)
  if (found.ok) return found.dir
  if (isNothingNamed(args) && (await findConfigFile(source)) === undefined) {
    throw new CliError(
      'CLI_UNAVAILABLE',
      'no server found: there is no config file and no .svc here; name one with --config or --dir',
    )
  }
  await printProblems(found.problems)
  throw new CliError('CLI_CONFIG', 'cannot find the run directory of the server')
}

async function open(path: string): Promise<Socket> {
  const socket = connectUnix(path)
  try {
    await once(socket, 'connect')
    return socket
  } catch (error) {
    const code = codeOf(error)
    const isAbsent = code === 'ENOENT' || code === 'ECONNREFUSED'
    const message = isAbsent ? `no server is running (${path})` : `cannot reach the server at ${path}: ${messageOf(error)}`
    throw new CliError('CLI_UNAVAILABLE', message, { cause: error })
  }
}

const refusals: Readonly<Record<string, CliError['code']>> = {
  SUP_BAD_PURGE: 'CLI_USAGE',
  SUP_UNKNOWN_SITE: 'CLI_USAGE',
  SUP_NO_OVERRIDE: 'CLI_USAGE',
  SUP_OVERRIDE: 'CLI_CONFIG',
  SUP_PURGE_FAILED: 'CLI_NOT_DONE',
  SUP_STATE: 'CLI_NOT_DONE',
}

/** The error of the command line for a request that the server refused. */
function refusalOf(error: unknown): CliError | undefined {
  const code = codeOf(error)
  const ours = refusals[code ?? '']
  return ours === undefined ? undefined : new CliError(ours, messageOf(error), { cause: error })
}

/** Calls a method of the running server. */
type AskServer = <Name extends keyof ControlMethods & string>(
  method: Name,
  request: RequestOf<ControlMethods[Name]>,
  timeoutMs: number,
) => Promise<ReplyOf<ControlMethods[Name]>>

/**
 * Returns a function that calls methods of the server at a control socket, each over a connection of its own. That throws
 * CLI_UNAVAILABLE if the server cannot be reached or ends, CLI_USAGE, CLI_CONFIG or CLI_NOT_DONE if it refuses the request.
 */
export function serverAt(path: string): AskServer {
  return async (method, request, timeoutMs) => {
    const socket = await open(path)
    let problem: Error | undefined
    const peer: Peer = new RpcPeer({
      channel: createSocketChannel(socket),
      local: controlClientMethods,
      handlers: {},
      remote: controlMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'the server',
      onProblem: (error) => {
        problem = error
      },
    })
    try {
      return await peer.call(method, request, { timeoutMs })
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal !== undefined) throw refusal
      if (codeOf(error)?.startsWith('CORE_') !== true) throw error
      const isGone = problem === undefined && codeOf(error) === 'CORE_PEER_GONE'
      const message = isGone ? 'the server ended before it answered: its log says why' : messageOf(problem ?? error)
      throw new CliError('CLI_UNAVAILABLE', message, { cause: error })
    } finally {
      peer.close()
      socket.destroy()
    }
  }
}

/**
 * Finds the running server that the options mean.
 * @throws CLI_UNAVAILABLE, CLI_CONFIG: see `findRunDir`
 */
export async function findServer(args: SourceArgs): Promise<AskServer> {
  return serverAt(join(await findRunDir(args), 'control.sock'))
}
