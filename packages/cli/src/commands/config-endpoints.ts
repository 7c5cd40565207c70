import type { Endpoint } from '@svc/admin'
import type { Config } from '@svc/config'
import { ExitCode } from '@svc/protocol'
import { command, commandGroup } from '../command-line/command.ts'
import { printData, printResult } from '../command-line/output.ts'
import { loadOrComplain, type SourceArgs, withConfigOption, withPlatform } from '../command-line/source-options.ts'

interface ListArgs extends SourceArgs {
  readonly json: boolean
}
interface DisableArgs {
  readonly group: SwitchedGroup
}

/** The groups that have a key. */
const switchedGroups = ['health', 'metrics', 'api', 'obs', 'admin'] as const
type SwitchedGroup = (typeof switchedGroups)[number]

/** A group of endpoints as a configuration has it. */
interface GroupState {
  readonly group: Endpoint['group']
  readonly isEnabled: boolean
  readonly endpoints: readonly (Pick<Endpoint, 'method' | 'path' | 'group' | 'access'> & { readonly enabled: boolean })[]
}

/** All groups with all endpoints, those too that the configuration disables. */
async function groupStates(config: Config): Promise<GroupState[]> {
  const { endpointGroups, endpointSettings, listEndpoints } = await import('@svc/admin')
  const settings = endpointSettings(config)
  const served = new Set(listEndpoints(settings).map(({ method, path }) => `${method} ${path}`))
  const all = listEndpoints({
    ...settings,
    groups: new Set(endpointGroups),
    healthPaths: [config.health.path, config.scaling.health_path],
    metricsPaths: ['/metrics', config.metrics.path],
  })
  return endpointGroups.map((group) => ({
    group,
    isEnabled: settings.groups.has(group),
    endpoints: all
      .filter((endpoint) => endpoint.group === group)
      .map(({ method, path, access }) => ({ method, path, group, access, enabled: served.has(`${method} ${path}`) })),
  }))
}

function describeGroup({ group, isEnabled, endpoints }: GroupState): string {
  const lines = endpoints.map(
    ({ method, path, enabled }) => `  ${method.padEnd('DELETE'.length)}  ${path}${enabled ? '' : '  (hidden)'}`,
  )
  return [`${group} [${isEnabled ? 'enabled' : 'disabled'}]`, ...lines].join('\n')
}

const list = command<ListArgs>({
  usage: 'list',
  describe: 'List the built-in endpoints by group; those that the configuration disables are marked (hidden)',
  options: (yargs) =>
    withPlatform(yargs)
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 config endpoints list --json', 'for scripts'),
  run: async ({ json, ...args }) => {
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    const groups = await groupStates(loaded.config)
    const used = groups.filter(({ endpoints }) => endpoints.length > 0)
    return printResult(
      json,
      groups.flatMap(({ endpoints }) => endpoints),
      used.map(describeGroup).join('\n\n'),
    )
  },
})

/** Says which key decides about a group. */
function keyOf(group: Endpoint['group']): string {
  if (group === 'admin') return 'follows [admin].enabled unless endpoints.admin is set'
  return switchedGroups.some((name) => name === group) ? `endpoints.${group}` : 'always on'
}

const show = command<SourceArgs>({
  usage: 'show',
  describe: 'Show which groups of endpoints are on',
  options: (yargs) => withPlatform(yargs).example('$0 config endpoints show', 'one line for each group'),
  run: async (args) => {
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    const groups = await groupStates(loaded.config)
    const lines = groups.map(({ group, isEnabled }) => `${group.padEnd(8)} ${isEnabled ? 'on ' : 'off'}  (${keyOf(group)})`)
    printData(lines.join('\n'))
    return ExitCode.ok
  },
})

const disable = command<DisableArgs>({
  usage: 'disable <group>',
  describe: 'Print the lines for the config file that disable a group; changes no file',
  options: (yargs) =>
    withConfigOption(yargs)
      .positional('group', { choices: switchedGroups, demandOption: true, describe: 'Group of endpoints' })
      .example('$0 config endpoints disable obs', 'its endpoints answer 404'),
  run: async ({ group }) => {
    const { configToml } = await import('@svc/config')
    const lines = configToml({ endpoints: { [group]: false } }).trimEnd()
    printData(`# Add this to the config file, then restart the server: a reload does not change endpoints.\n${lines}`)
    return ExitCode.ok
  },
})

/** `svc config endpoints` with its commands. */
export const endpointCommands = commandGroup({
  name: 'endpoints',
  describe: 'Show the built-in endpoints and how to disable them',
  example: ['$0 config endpoints list', 'every URL that the server itself answers'],
  commands: { list, show, disable },
})
