import { resolve } from 'node:path'
import type { VhostReport } from '@svc/config'
import { ExitCode } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { ownCommand, shellWord } from '../command-line/installation.ts'
import { formatTable, printData, printJson, printMessage, printProblems } from '../command-line/output.ts'
import { configSource, withConfigOption } from '../command-line/source-options.ts'
import { unreadablePaths } from './unreadable-paths.ts'
import { configOf, writeConfig } from './written-config.ts'

interface ImportArgs {
  readonly file: string
  readonly write: string | undefined
  readonly force: boolean
  readonly user: string | undefined
  readonly json: boolean
}

type Unreadable = Awaited<ReturnType<typeof unreadablePaths>>

const DATE_CHARS = 10

function section(title: string, headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : [`${title}\n${formatTable(headings, rows)}`]
}

function describe({ servers, certificates, upstreams, ignored }: VhostReport, { user, paths }: Unreadable): string {
  const listenText = ({ address, tls, default: isDefault }: VhostReport['servers'][number]['listen'][number]) =>
    `${address}${tls ? ' tls' : ''}${isDefault ? ' default' : ''}`
  return [
    ...section(
      `Servers: ${servers.length}`,
      ['NAMES', 'ADDRESSES', 'LOCATIONS', 'SITE', 'PLACE'],
      servers.map(({ names, listen, locations, site, place }) => [
        names.join(' '),
        listen.map(listenText).join(', '),
        String(locations),
        site,
        place,
      ]),
    ),
    ...section(
      `Certificates: ${certificates.length}`,
      ['CERTIFICATE', 'EXPIRES', 'NAMES', 'PROBLEM'],
      certificates.map(({ cert, names, expires, problem }) => [
        cert,
        expires?.slice(0, DATE_CHARS) ?? '',
        names.join(' '),
        problem ?? '',
      ]),
    ),
    ...section(
      `Upstreams: ${upstreams.length}`,
      ['UPSTREAM', 'SERVERS'],
      upstreams.map(({ name, servers: addresses }) => [name, addresses.join(', ')]),
    ),
    ...section(
      `Directives without effect: ${ignored.length}`,
      ['DIRECTIVE', 'PLACE', 'REASON'],
      ignored.map(({ name, places: [first = '', ...more], reason }) => [
        name,
        more.length === 0 ? first : `${first} and ${more.length} more`,
        reason,
      ]),
    ),
    ...section(
      `Paths that the user ${user} cannot use: ${paths?.length}`,
      ['PATH', 'PURPOSE'],
      (paths ?? []).map(({ path, purpose }) => [path, purpose]),
    ),
  ].join('\n\n')
}

function jsonOf({ servers, certificates, upstreams, ignored, problems, files }: VhostReport, { user, paths }: Unreadable) {
  return {
    files,
    servers,
    certificates,
    upstreams,
    no_effect: ignored,
    refused: problems.map(({ file, line, column, message, hint }) => ({ file, line, column, message, advice: hint ?? null })),
    user,
    unusable_paths: paths ?? null,
  }
}

/** Writes the config file that serves the files, once it passes the check. Returns the exit code. */
async function write(glob: string, report: VhostReport, { write: name = '', force }: ImportArgs): Promise<number> {
  const path = resolve(name)
  const text = await configOf(glob, path, report)
  const { loadConfig } = await import('@svc/config')
  const loaded = await loadConfig({ ...configSource({ config: path }), text })
  if (!loaded.ok) {
    await printProblems(loaded.problems)
    printMessage(`svc: ${path} was not written`)
    return ExitCode.config
  }
  await writeConfig(path, text, force)
  const config = `--config ${shellWord(path)}`
  const own = await ownCommand()
  printMessage(`Wrote ${path}. Check it as the user of the service: ${own} config check ${config}`)
  return ExitCode.ok
}

/** `svc vhosts import`: reads the files of an nginx, shows what they contain, and writes a config file that serves them. */
export const importCommand = command<ImportArgs>({
  usage: 'import <file>',
  describe: 'Show what nginx files contain and what svc rejects in them, and write a config file that serves them',
  options: (yargs) =>
    withConfigOption(yargs)
      .positional('file', { type: 'string', demandOption: true, describe: 'nginx.conf, or a glob of files with server blocks' })
      .option('write', { type: 'string', requiresArg: true, describe: 'Config file to write' })
      .option('force', { type: 'boolean', default: false, describe: 'Replace a config file that exists' })
      .option('user', {
        type: 'string',
        requiresArg: true,
        describe: 'User of the service, who must be able to read the files [default: for root svc, else you]',
      })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 vhosts import /etc/nginx/nginx.conf', 'show servers, certificates, upstreams and what is rejected')
      .example('$0 vhosts import /etc/nginx/nginx.conf --write svc.config.toml', 'and write a config file'),
  run: async (args) => {
    const glob = resolve(args.file)
    const { reportVhosts } = await import('@svc/config')
    const report = await reportVhosts(glob)
    const unreadable = await unreadablePaths(report, args.user)
    if (args.json) printJson(jsonOf(report, unreadable))
    else if (report.servers.length > 0) printData(describe(report, unreadable))
    if (unreadable.paths === undefined) {
      printMessage(`notice: only root or ${unreadable.user} can check the files that ${unreadable.user} needs`)
    }
    if (report.problems.length > 0) {
      await printProblems(report.problems)
      if (args.write !== undefined) printMessage(`svc: ${resolve(args.write)} was not written`)
      return ExitCode.config
    }
    if (report.servers.length === 0) printMessage(`notice: there is no server block in ${glob}`)
    return args.write === undefined ? ExitCode.ok : await write(glob, report, args)
  },
})
