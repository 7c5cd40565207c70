import { resolve } from 'node:path'
import type { WebSpec } from '@svc/config'
import { messageOf, printableLine } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { printData, printJson, printMessage, printProblems } from '../command-line/output.ts'
import { withConfigOption } from '../command-line/source-options.ts'
import { ask, type Question } from './ask.ts'
import type { Bases } from './compare-answers.ts'
import { type Comparison, compareDerived, compareGiven } from './comparison.ts'
import { readRequests } from './given-requests.ts'

interface CompareArgs {
  readonly file: string
  readonly against: string
  readonly url: string | undefined
  readonly requests: string | undefined
  readonly unsafe: boolean
  readonly max: number
  readonly json: boolean
}

/** The servers respond differently: as diff(1) says it. */
const DIFFERENT = 1
const MAX_REQUESTS = 5_000

function readUrl(text: string, option: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname !== '/') {
    throw new CliError('CLI_USAGE', `--${option} must be the address of a server, such as http://127.0.0.1:8081`)
  }
  return url
}

/** Where this machine reaches a listen address; undefined: not over TCP. */
function urlOf(address: string, protocol: string): URL | undefined {
  if (address.startsWith('unix:')) return undefined
  return new URL(`${protocol}//${address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:')}`)
}

function portOf({ port, protocol }: URL): string {
  return port === '' ? (protocol === 'https:' ? '443' : '80') : port
}

/** The listen address that is compared, and where svc answers for it. */
function chooseAddress(web: WebSpec, { protocol }: URL, given: URL | undefined): { readonly address: string; readonly url: URL } {
  const isTls = protocol === 'https:'
  const all = web.servers.flatMap(({ listen }) => listen.flatMap((one) => (one.isTls === isTls ? [one.address] : [])))
  const port = given === undefined ? undefined : portOf(given)
  const address = all.find((one) => one.endsWith(`:${port}`)) ?? all.find((one) => urlOf(one, protocol) !== undefined)
  const url = given ?? (address === undefined ? undefined : urlOf(address, protocol))
  if (address === undefined || url === undefined) {
    throw new CliError('CLI_USAGE', `no server of the files listens for ${isTls ? 'HTTPS' : 'plain HTTP'} on a TCP address`)
  }
  return { address, url }
}

async function mustAnswer(base: URL, name: string): Promise<void> {
  const question: Question = { method: 'HEAD', host: base.host, target: '/', headers: {} }
  await ask(base, question).catch((error: unknown) => {
    throw new CliError('CLI_UNAVAILABLE', `${name} does not answer at ${base.origin}: ${messageOf(error)}`, { cause: error })
  })
}

function describe({ requests, different }: Comparison): string {
  const lines = different.flatMap(({ method, host, target, headers, differences }) => [
    printableLine([`${method} ${host}${target}`, ...Object.entries(headers).map((field) => field.join(': '))].join('  ')),
    ...differences.map(({ field, nginx, svc }) => printableLine(`  ${field}: nginx ${nginx || 'none'} | svc ${svc || 'none'}`)),
  ])
  return [...lines, `${requests} requests, ${different.length} with differences`].join('\n')
}

async function compareFile(args: CompareArgs): Promise<number> {
  const nginx = readUrl(args.against, 'against')
  const given = args.url === undefined ? undefined : readUrl(args.url, 'url')
  if (!(Number.isInteger(args.max) && args.max > 0)) throw new CliError('CLI_USAGE', '--max must be a whole number above 0')
  const questions = args.requests === undefined ? undefined : await readRequests(resolve(args.requests), args.unsafe)
  const { deriveRequests, readVhosts } = await import('@svc/config')
  const { web, problems } = await readVhosts(resolve(args.file))
  if (problems.length > 0) {
    await printProblems(problems)
    return ExitCode.config
  }
  const { address, url } = chooseAddress(web, nginx, given)
  const bases: Bases = { nginx, svc: url }
  if (nginx.host === url.host) throw new CliError('CLI_USAGE', `--against and svc are the same address, ${url.origin}`)
  await Promise.all([mustAnswer(nginx, 'nginx'), mustAnswer(url, 'svc')])
  const servers = web.servers.filter(({ listen }) => listen.some((one) => one.address === address))
  const limits = { maxRequests: args.max, isUnsafe: args.unsafe }
  const compared =
    questions === undefined
      ? await compareDerived(bases, limits, await deriveRequests(servers))
      : await compareGiven(bases, limits, questions)
  const left = web.servers.length - servers.length
  if (args.json) {
    const { requests, different, isCut } = compared
    printJson({ against: nginx.origin, url: url.origin, requests, is_cut: isCut, servers_not_compared: left, different })
  } else printData(describe(compared))
  if (left > 0) printMessage(`notice: ${left} servers do not listen on ${address} and were not compared`)
  if (compared.isCut) printMessage(`notice: ended after ${args.max} requests; --max allows more`)
  return compared.different.length === 0 ? ExitCode.ok : DIFFERENT
}

/** `svc vhosts compare`: sends the same requests to a running nginx and to this server. */
export const compareCommand = command<CompareArgs>({
  usage: 'compare <file>',
  describe: 'Send requests derived from nginx files to a running nginx and to the running svc, and print differences',
  options: (yargs) =>
    withConfigOption(yargs)
      .positional('file', { type: 'string', demandOption: true, describe: 'The vhost file, or nginx.conf, that svc serves' })
      .option('against', { type: 'string', demandOption: true, requiresArg: true, describe: 'Address of nginx' })
      .option('url', { type: 'string', requiresArg: true, describe: 'Address of svc [default: the first that the file opens]' })
      .option('requests', {
        type: 'string',
        requiresArg: true,
        describe: 'File with a method and a URL in each line, to send instead',
      })
      .option('unsafe', { type: 'boolean', default: false, describe: 'Also send POST: both servers carry it out' })
      .option('max', { type: 'number', default: MAX_REQUESTS, requiresArg: true, describe: 'Most requests' })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 vhosts compare sites.conf --against http://127.0.0.1:8081', 'exits with 1 if there are differences'),
  run: compareFile,
})
