import { command, commandGroup } from '../command-line/command.ts'
import { formatTable, printResult } from '../command-line/output.ts'
import { compareCommand } from '../moving/compare-command.ts'
import { importCommand } from '../moving/import-command.ts'

interface DirectivesArgs {
  readonly json: boolean
}

const HEADINGS = ['DIRECTIVE', 'CLASS', 'CONTEXTS', 'ARGUMENTS', 'DEFAULT', 'NOTE'] as const

function argumentsText([min, max]: readonly [number, number | null]): string {
  if (max === null) return `${min} or more`
  return min === max ? `${min}` : `${min} to ${max}`
}

/** `svc vhosts directives`: every directive of nginx, and what becomes of it here. */
const directives = command<DirectivesArgs>({
  usage: 'directives',
  describe: 'List the directives of vhost files: those that work, those without effect, and those that are refused',
  options: (yargs) =>
    yargs
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 vhosts directives --json', 'for scripts'),
  run: async ({ json }) => {
    const { directiveTable } = await import('@svc/config')
    const table = directiveTable()
    const rows = table.map(({ name, class: kind, contexts, args, default: usual, note, accepted }) => {
      const text = accepted.length === 0 ? note : `${note} (accepted: ${accepted.join(', ')})`
      return [name, kind, contexts.join(','), argumentsText(args), usual, text]
    })
    return printResult(json, table, formatTable(HEADINGS, rows))
  },
})

/** `svc vhosts` with its commands. */
export const vhostsCommands = commandGroup({
  name: 'vhosts',
  describe: 'Vhost files in the grammar of nginx',
  example: ['$0 vhosts directives', 'what becomes of each directive of nginx'],
  commands: { directives, import: importCommand, compare: compareCommand },
})
