import { printableLine } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import type { Command } from '../command-line/command.ts'
import { printData, printMessage } from '../command-line/output.ts'
import { type SourceArgs, withConfigOption } from '../command-line/source-options.ts'
import { loadOrComplain } from './load-or-complain.ts'

/** `svc config check`: validates everything and prints every problem. */
export const configCheckCommand: Command<SourceArgs> = {
  usage: 'check',
  describe: 'Check the config file, what it names and its certificates',
  options: (yargs) =>
    withConfigOption(yargs)
      .option('platform', { type: 'string', requiresArg: true, describe: 'Platform file with [[apps]]' })
      .example('$0 config check', 'check the file that "svc serve" would use')
      .example('$0 config check --config new.toml && $0 reload', 'reload only if a file is right'),
  run: async (args) => {
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    for (const notice of loaded.notices) printMessage(`notice: ${printableLine(notice)}`)
    const count = loaded.sites.length
    printData(`${loaded.files[0] ?? 'configuration'}: ok, ${count} ${count === 1 ? 'site' : 'sites'}`)
    return ExitCode.ok
  },
}
