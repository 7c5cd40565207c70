import { codeOf, messageOf, printableLine } from '@svc/core'
import { ExitCode, type SiteManifestInfo } from '@svc/protocol'
import type { Command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { formatTable, printData, printJson, printMessage } from '../command-line/output.ts'
import { type SourceArgs, withServerOptions } from '../command-line/source-options.ts'
import { askServer, findControlSocket } from '../control/control-client.ts'
import { loadOrComplain } from './load-or-complain.ts'

interface RoutesArgs extends SourceArgs {
  readonly site: string
  readonly json: boolean
}

const TIMEOUT_MS = 60_000

async function fromServer(args: RoutesArgs): Promise<SiteManifestInfo> {
  const socket = await findControlSocket(args)
  return askServer(socket, { method: 'routes', request: { site: args.site }, timeoutMs: TIMEOUT_MS })
}

/** Reads the site's directory in this process. Undefined when the configuration has problems, which are printed. */
async function fromFiles(args: RoutesArgs): Promise<SiteManifestInfo | undefined> {
  const loaded = await loadOrComplain(args)
  if (loaded === undefined) return undefined
  const site = loaded.sites.find(({ id }) => id === args.site)
  if (site === undefined) {
    const { nearestName } = await import('@svc/core')
    const ids = loaded.sites.map(({ id }) => id)
    const near = nearestName(args.site, ids)
    const hint = near === undefined ? `there are: ${ids.join(', ') || 'none'}` : `did you mean "${near}"?`
    throw new CliError('CLI_USAGE', `no site "${args.site}"; ${hint}`)
  }
  const [{ problemText }, { scanSite }] = await Promise.all([import('@svc/site'), import('@svc/site/scan')])
  const manifest = scanSite({ root: site.root, publicDir: site.public })
  const routes = manifest.routes.map(({ pattern, kind, file }) => ({ pattern, kind, file }))
  return { routes, problems: manifest.problems.map(problemText) }
}

/** True for an error of a server that was reached. */
function hasServer(error: unknown): boolean {
  return codeOf(error instanceof Error ? error.cause : undefined)?.startsWith('CORE_') === true
}

async function findRoutes(args: RoutesArgs): Promise<SiteManifestInfo | undefined> {
  try {
    return await fromServer(args)
  } catch (error) {
    if (codeOf(error) !== 'CLI_UNAVAILABLE') throw error
    const found = await fromFiles(args)
    // Without a server there is nothing to be told.
    if (found !== undefined && hasServer(error)) {
      printMessage(`the server did not list the routes (${printableLine(messageOf(error))}): these are read from the files`)
    }
    return found
  }
}

/** `svc routes`: the route table of a site, of the running server or of the files. */
export const routesCommand: Command<RoutesArgs> = {
  usage: 'routes <site>',
  describe: 'List the routes of a site; works without a running server',
  options: (yargs) =>
    withServerOptions(yargs)
      .positional('site', { type: 'string', demandOption: true, describe: 'Id of the site; "default" for a standalone one' })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 routes blog', 'patterns and their files')
      .example('$0 routes default --dir ./my-site', 'of a site directory'),
  run: async (args) => {
    const found = await findRoutes(args)
    if (found === undefined) return ExitCode.config
    if (args.json) {
      printJson(found)
      return ExitCode.ok
    }
    printData(
      formatTable(
        ['PATTERN', 'KIND', 'FILE'],
        found.routes.map(({ pattern, kind, file }) => [pattern, kind, file]),
      ),
    )
    for (const problem of found.problems) printMessage(printableLine(problem))
    return ExitCode.ok
  },
}
