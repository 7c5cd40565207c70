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

/** One question to the running server. */
interface ControlCall<Name extends keyof ControlMethods> {
  readonly method: Name
  readonly request: RequestOf<ControlMethods[Name]>
  readonly timeoutMs: number
}

/** Where a server is looked for without options and files: it cannot be a mistake in a file. */
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
  throw new CliError('CLI_CONFIG', 'cannot tell which server is meant')
}

/**
 * Finds the control socket of the instance that the options mean.
 * @throws what `findRunDir` throws
 */
export async function findControlSocket(args: SourceArgs): Promise<string> {
  return join(await findRunDir(args), 'control.sock')
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

/** Errors of the server about the arguments of a request, in the words of the command line. */
function refusalOf(error: unknown): CliError | undefined {
  const code = codeOf(error)
  if (code === 'SUP_BAD_PURGE' || code === 'SUP_UNKNOWN_SITE')
    return new CliError('CLI_USAGE', messageOf(error), { cause: error })
  if (code === 'SUP_PURGE_FAILED') return new CliError('CLI_NOT_DONE', messageOf(error), { cause: error })
  return undefined
}

/**
 * Asks the running server.
 * @throws CLI_UNAVAILABLE when it cannot be reached or goes away, CLI_USAGE when it knows no such thing, CLI_NOT_DONE when it
 * could not do it
 */
export async function askServer<Name extends keyof ControlMethods & string>(
  path: string,
  call: ControlCall<Name>,
): Promise<ReplyOf<ControlMethods[Name]>> {
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
    return await peer.call(call.method, call.request, { timeoutMs: call.timeoutMs })
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal !== undefined) throw refusal
    if (codeOf(error)?.startsWith('CORE_') !== true) throw error
    throw new CliError('CLI_UNAVAILABLE', messageOf(problem ?? error), { cause: error })
  } finally {
    peer.close()
    socket.destroy()
  }
}
