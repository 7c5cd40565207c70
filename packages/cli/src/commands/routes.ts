import { codeOf, messageOf, printableLine } from '@svc/core'
import { ExitCode, type SiteManifestInfo } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { formatTable, printMessage, printResult } from '../command-line/output.ts'
import { loadOrComplain, type ServerArgs, siteArgument, withJson } from '../command-line/source-options.ts'
import { findServer } from '../control/control-client.ts'

interface RoutesArgs extends ServerArgs {
  readonly site: string
}

const TIMEOUT_MS = 60_000

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
    const ask = await findServer(args)
    return await ask('routes', { site: args.site }, TIMEOUT_MS)
  } catch (error) {
    if (codeOf(error) !== 'CLI_UNAVAILABLE') throw error
    const found = await fromFiles(args)
    // Without a server the files are the only source.
    if (found !== undefined && hasServer(error)) {
      printMessage(`the server did not list the routes (${printableLine(messageOf(error))}): these are read from the files`)
    }
    return found
  }
}

/** `svc routes`: the route table of a site, of the running server or of the files. */
export const routesCommand = command<RoutesArgs>({
  usage: 'routes <site>',
  describe: 'List the routes of a site; works without a running server',
  options: (yargs) =>
    withJson(yargs)
      .positional('site', siteArgument)
      .example('$0 routes blog', 'patterns and their files')
      .example('$0 routes default --dir ./my-site', 'of a site directory'),
  run: async (args) => {
    const found = await findRoutes(args)
    if (found === undefined) return ExitCode.config
    const rows = found.routes.map(({ pattern, kind, file }) => [pattern, kind, file])
    printResult(args.json, found, formatTable(['PATTERN', 'KIND', 'FILE'], rows))
    if (!args.json) for (const problem of found.problems) printMessage(printableLine(problem))
    return ExitCode.ok
  },
})
