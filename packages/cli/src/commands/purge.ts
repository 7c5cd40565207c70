import { resolve } from 'node:path'
import { ExitCode, type PurgeOutcome } from '@svc/protocol'
import type { Argv } from 'yargs'
import { addCommand, type Command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { printData, printJson } from '../command-line/output.ts'
import { type SourceArgs, withServerOptions } from '../command-line/source-options.ts'
import { askServer, findControlSocket } from '../control/control-client.ts'
import { isrOrder, l0Order, type PurgeOrder, proxyOrder } from './purge-order.ts'

interface PurgeArgs extends SourceArgs {
  readonly json: boolean
}
interface L0Args extends PurgeArgs {
  readonly path: readonly string[]
  readonly host: string | undefined
}
interface IsrArgs extends PurgeArgs {
  readonly tag: string | undefined
  readonly pattern: string | undefined
}
interface ProxyArgs extends PurgeArgs {
  readonly host: string
  readonly path: readonly string[]
  readonly prefix: readonly string[]
}
interface ModulesArgs extends PurgeArgs {
  readonly path: readonly string[]
  readonly site: string | undefined
}
interface AppArgs extends PurgeArgs {
  readonly app_root: string
}

/** A process that does not answer is killed and replaced before the purge is answered. */
const TIMEOUT_MS = 60_000

type Layer = 'l0' | 'isr' | 'proxy'

const entries = (count: number) => `${count} ${count === 1 ? 'entry' : 'entries'}`

function describe(layer: Layer, outcome: PurgeOutcome): string {
  const others = (['l0', 'isr', 'proxy'] as const).filter((other) => other !== layer && outcome[other] > 0)
  const also = others.length === 0 ? '' : `, also ${others.map((other) => `${outcome[other]} of ${other}`).join(', ')}`
  const { workersAcked, workersTotal, tookMs } = outcome
  return `dropped ${entries(outcome[layer])} of ${layer}${also} (${workersAcked} of ${workersTotal} workers, ${tookMs.toFixed(1)} ms)`
}

/** Has the server carry out an order and prints what was dropped. */
async function purge(args: PurgeArgs, layer: Layer, order: PurgeOrder): Promise<number> {
  const socket = await findControlSocket(args)
  const outcome = await askServer(socket, { method: 'purge', request: { order }, timeoutMs: TIMEOUT_MS })
  const { l0, isr, proxy, workersAcked: acked, workersTotal: total, tookMs } = outcome
  const also = { l0, isr, proxy, [layer]: 0 }
  if (args.json) printJson({ layer, purged: outcome[layer], also, workers: { acked, total }, took_ms: tookMs })
  else printData(describe(layer, outcome))
  return ExitCode.ok
}

const withJson = (yargs: Argv) =>
  withServerOptions(yargs).option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
/** The last one counts, as in all other commands. */
const last = (value: unknown) => (Array.isArray(value) ? value.at(-1) : value)
const text = { type: 'string', requiresArg: true, coerce: last } as const
const paths = { type: 'string', array: true, requiresArg: true, default: [] as string[] } as const

const l0Command: Command<L0Args> = {
  usage: 'l0',
  describe: 'Drop responses from the in-process cache of every worker',
  options: (yargs) =>
    withJson(yargs)
      .option('path', { ...paths, describe: 'URL path, with all its queries and encodings; repeatable' })
      .option('host', { ...text, describe: 'Only this host [default: every host]' })
      .example('$0 purge l0', 'everything')
      .example('$0 purge l0 --path /blog/hello --host blog.example', 'one page of one host'),
  run: async (args) => purge(args, 'l0', l0Order(args)),
}

const isrCommand: Command<IsrArgs> = {
  usage: 'isr',
  describe: 'Drop rendered pages and data by tag',
  options: (yargs) =>
    withJson(yargs)
      .option('tag', { ...text, describe: 'route:<label>:<name>, or <name> for every site' })
      .option('pattern', { ...text, describe: 'Glob over tags: "route:blog:*", "*"' })
      .conflicts('tag', 'pattern')
      .example('$0 purge isr --tag posts', 'everything with this tag, on any site')
      .example("$0 purge isr --pattern 'route:blog:*'", 'a whole site'),
  run: async (args) => purge(args, 'isr', isrOrder(args)),
}

const proxyCommand: Command<ProxyArgs> = {
  usage: 'proxy',
  describe: 'Drop entries of the proxy cache of a host',
  options: (yargs) =>
    withJson(yargs)
      .option('host', { ...text, demandOption: true, describe: 'Host name' })
      .option('path', { ...paths, describe: 'URL path, with any query; repeatable' })
      .option('prefix', { ...paths, describe: 'Prefix of URL paths; repeatable' })
      .example('$0 purge proxy --host shop.example --prefix /api/', 'part of a host'),
  run: async (args) => purge(args, 'proxy', proxyOrder(args)),
}

const modulesCommand: Command<ModulesArgs> = {
  usage: 'modules',
  describe: 'Drop compiled modules; without options all of them, which is slow',
  options: (yargs) =>
    withJson(yargs)
      .option('path', { ...paths, describe: 'Source file; its importers are dropped too; repeatable' })
      .option('site', { ...text, describe: 'Directory whose modules are dropped' })
      .example('$0 purge modules --site ./blog', 'the modules of one site'),
  run: async (args) => {
    const socket = await findControlSocket(args)
    const files = args.path.map((path) => resolve(path))
    const requests = [
      ...(args.site === undefined ? [] : [{ dir: resolve(args.site) }]),
      ...(files.length === 0 ? [] : [{ paths: files }]),
    ]
    let purged = 0
    for (const request of requests.length === 0 ? [{}] : requests) {
      purged += (await askServer(socket, { method: 'purgeModules', request, timeoutMs: TIMEOUT_MS })).evicted
    }
    if (args.json) printJson({ layer: 'modules', purged })
    else printData(`forgot ${purged} compiled ${purged === 1 ? 'module' : 'modules'}`)
    return ExitCode.ok
  },
}

const appCommand: Command<AppArgs> = {
  usage: 'app <app_root>',
  describe: 'Drop modules, routes and pages of the site with this directory',
  options: (yargs) =>
    withJson(yargs)
      .positional('app_root', { type: 'string', demandOption: true, describe: 'Root or app directory of a site' })
      .example('$0 purge app ./blog', 'after its files were replaced'),
  run: async (args) => {
    const socket = await findControlSocket(args)
    const root = resolve(args.app_root)
    const reset = await askServer(socket, { method: 'resetApp', request: { root }, timeoutMs: TIMEOUT_MS })
    const { sites, roots, evicted, l0, isr } = reset
    if (sites.length === 0) throw new CliError('CLI_USAGE', `no site has ${root}; there are: ${roots.join(', ') || 'none'}`)
    if (args.json) printJson({ layer: 'app', sites, purged: evicted, also: { l0, isr } })
    else printData(`${sites.join(', ')}: forgot ${evicted} compiled modules, ${entries(isr)} of isr, ${entries(l0)} of l0`)
    return ExitCode.ok
  },
}

/** Adds `svc purge` with its commands. */
export function addPurgeCommands(yargs: Argv, settle: (exitCode: number) => void): Argv {
  return yargs.command('purge', 'Drop entries from the caches of the running server', (purges: Argv) => {
    // Elsewhere the last of several options counts; here paths are collected.
    purges.parserConfiguration({ 'duplicate-arguments-array': true, 'greedy-arrays': false, 'parse-positional-numbers': false })
    addCommand(purges, l0Command, settle)
    addCommand(purges, isrCommand, settle)
    addCommand(purges, proxyCommand, settle)
    addCommand(purges, modulesCommand, settle)
    addCommand(purges, appCommand, settle)
    return purges
      .demandCommand(1, 'Name a command: l0, isr, proxy, modules or app.')
      .strict()
      .example('$0 purge isr --tag posts', 'the next request renders the pages with this tag')
  })
}
