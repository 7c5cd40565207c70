import { resolve } from 'node:path'
import type { RequestOf } from '@svc/core'
import type { controlMethods, PurgeOutcome } from '@svc/protocol'
import { command, commandGroup } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { printResult } from '../command-line/output.ts'
import { type ServerArgs, withJson } from '../command-line/source-options.ts'
import { findServer } from '../control/control-client.ts'

type PurgeOrder = RequestOf<(typeof controlMethods)['purge']>['order']
type Scopes = PurgeOrder['scopes']

interface L0Args extends ServerArgs {
  readonly path: readonly string[]
  readonly host: string | undefined
}
interface IsrArgs extends ServerArgs {
  readonly tag: string | undefined
  readonly pattern: string | undefined
}
interface ProxyArgs extends ServerArgs {
  readonly host: string
  readonly path: readonly string[]
  readonly prefix: readonly string[]
}
interface ModulesArgs extends ServerArgs {
  readonly path: readonly string[]
  readonly site: string | undefined
}
interface AppArgs extends ServerArgs {
  readonly app_root: string
}

/** A process that does not answer is killed and replaced before the purge is answered. */
const TIMEOUT_MS = 60_000

type Layer = 'l0' | 'isr' | 'proxy'

const entries = (count: number) => `${count} ${count === 1 ? 'entry' : 'entries'}`

function describe(layer: Layer, outcome: PurgeOutcome): string {
  const others = (['l0', 'isr', 'proxy'] as const).filter((other) => other !== layer && outcome[other] > 0)
  const also = others.length === 0 ? '' : `, also ${others.map((other) => `${outcome[other]} of ${other}`).join(', ')}`
  const { workersAcked, workersTotal, tookMs, instances, l2 } = outcome
  const reached = [`${workersAcked} of ${workersTotal} workers`]
  if (l2 !== undefined) reached.push(`${instances.acked} of ${instances.known} instances`)
  if (l2 === 'deferred') reached.push('Redis is away: the other instances get the purge when it is back')
  return `dropped ${entries(outcome[layer])} of ${layer}${also} (${[...reached, `${tookMs.toFixed(1)} ms`].join(', ')})`
}

/** Has the server drop entries of a layer and prints their number. */
async function purge({ json, ...args }: ServerArgs, layer: Layer, scopes: Scopes): Promise<number> {
  const ask = await findServer(args)
  const order: PurgeOrder = { layers: [layer], scopes, mode: 'drop' }
  const outcome = await ask('purge', { order }, TIMEOUT_MS)
  const { l0, isr, proxy, workersAcked: acked, workersTotal: total, instances, l2, tookMs } = outcome
  const also = { l0, isr, proxy, [layer]: 0 }
  const value = { layer, purged: outcome[layer], also, workers: { acked, total }, instances, ...(l2 && { l2 }), took_ms: tookMs }
  return printResult(json, value, describe(layer, outcome))
}

/** Paths on a host or on every host, a whole host, or everything. */
function l0Scopes({ path, host }: L0Args): Scopes {
  const hosts = host === undefined ? null : [host]
  if (path.length > 0) return [{ kind: 'paths', paths: path, hosts }]
  return hosts === null ? [{ kind: 'everything' }] : [{ kind: 'hosts', hosts }]
}

/** One tag, or a pattern over tags. */
function isrScopes({ tag, pattern }: IsrArgs): Scopes {
  if ((tag === undefined) === (pattern === undefined)) throw new CliError('CLI_USAGE', 'give either --tag or --pattern')
  return tag !== undefined ? [{ kind: 'tags', tags: [tag] }] : [{ kind: 'pattern', pattern: pattern ?? '', labels: null }]
}

/** Paths and prefixes of a host, or all of it. */
function proxyScopes({ host, path, prefix }: ProxyArgs): Scopes {
  const hosts = [host]
  if (path.length === 0 && prefix.length === 0) return [{ kind: 'hosts', hosts }]
  return [
    { kind: 'paths', paths: path, hosts },
    { kind: 'prefixes', prefixes: prefix, hosts },
  ]
}

/** The last one counts, as in all other commands. */
const last = (value: unknown) => (Array.isArray(value) ? value.at(-1) : value)
const text = { type: 'string', requiresArg: true, coerce: last } as const
const paths = { type: 'string', array: true, requiresArg: true, default: [] as string[] } as const

const l0 = command<L0Args>({
  usage: 'l0',
  describe: 'Drop responses from the in-process cache of every worker',
  options: (yargs) =>
    withJson(yargs)
      .option('path', { ...paths, describe: 'URL path, with all its queries and encodings; repeatable' })
      .option('host', { ...text, describe: 'Only this host [default: every host]' })
      .example('$0 purge l0', 'everything')
      .example('$0 purge l0 --path /blog/hello --host blog.example', 'one page of one host'),
  run: async (args) => purge(args, 'l0', l0Scopes(args)),
})

const isr = command<IsrArgs>({
  usage: 'isr',
  describe: 'Drop rendered pages and data by tag',
  options: (yargs) =>
    withJson(yargs)
      .option('tag', { ...text, describe: 'route:<label>:<name>, or <name> for every site' })
      .option('pattern', { ...text, describe: 'Glob over tags: "route:blog:*", "*"' })
      .conflicts('tag', 'pattern')
      .example('$0 purge isr --tag posts', 'everything with this tag, on any site')
      .example("$0 purge isr --pattern 'route:blog:*'", 'a whole site'),
  run: async (args) => purge(args, 'isr', isrScopes(args)),
})

const proxy = command<ProxyArgs>({
  usage: 'proxy',
  describe: 'Drop entries of the proxy cache of a host',
  options: (yargs) =>
    withJson(yargs)
      .option('host', { ...text, demandOption: true, describe: 'Host name' })
      .option('path', { ...paths, describe: 'URL path, with any query; repeatable' })
      .option('prefix', { ...paths, describe: 'Prefix of URL paths; repeatable' })
      .example('$0 purge proxy --host shop.example --prefix /api/', 'part of a host'),
  run: async (args) => purge(args, 'proxy', proxyScopes(args)),
})

const modules = command<ModulesArgs>({
  usage: 'modules',
  describe: 'Drop compiled modules; without options all of them, which is slow',
  options: (yargs) =>
    withJson(yargs)
      .option('path', { ...paths, describe: 'Source file; its importers are dropped too; repeatable' })
      .option('site', { ...text, describe: 'Directory whose modules are dropped' })
      .example('$0 purge modules --site ./blog', 'the modules of one site'),
  run: async (args) => {
    const ask = await findServer(args)
    const files = args.path.map((path) => resolve(path))
    const requests = [
      ...(args.site === undefined ? [] : [{ dir: resolve(args.site) }]),
      ...(files.length === 0 ? [] : [{ paths: files }]),
    ]
    let purged = 0
    for (const request of requests.length === 0 ? [{}] : requests) {
      purged += (await ask('purgeModules', request, TIMEOUT_MS)).evicted
    }
    const text = `forgot ${purged} compiled ${purged === 1 ? 'module' : 'modules'}`
    return printResult(args.json, { layer: 'modules', purged }, text)
  },
})

const app = command<AppArgs>({
  usage: 'app <app_root>',
  describe: 'Drop modules, routes and pages of the site with this directory',
  options: (yargs) =>
    withJson(yargs)
      .positional('app_root', { type: 'string', demandOption: true, describe: 'Root or app directory of a site' })
      .example('$0 purge app ./blog', 'after its files were replaced'),
  run: async (args) => {
    const ask = await findServer(args)
    const root = resolve(args.app_root)
    const { sites, roots, evicted, l0, isr } = await ask('resetApp', { root }, TIMEOUT_MS)
    if (sites.length === 0) throw new CliError('CLI_USAGE', `no site has ${root}; there are: ${roots.join(', ') || 'none'}`)
    const text = `${sites.join(', ')}: forgot ${evicted} compiled modules, ${entries(isr)} of isr, ${entries(l0)} of l0`
    return printResult(args.json, { layer: 'app', sites, purged: evicted, also: { l0, isr } }, text)
  },
})

/** `svc purge` with its commands. */
export const purgeCommands = commandGroup({
  name: 'purge',
  describe: 'Drop entries from the caches of the running server',
  example: ['$0 purge isr --tag posts', 'the next request renders the pages with this tag'],
  commands: { l0, isr, proxy, modules, app },
  // Elsewhere the last of several options counts; here paths are collected.
  prepare: (yargs) =>
    yargs.parserConfiguration({ 'duplicate-arguments-array': true, 'greedy-arrays': false, 'parse-positional-numbers': false }),
})
