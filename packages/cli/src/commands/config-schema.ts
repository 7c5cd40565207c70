import { ExitCode } from '@svc/protocol'
import type { Command } from '../command-line/command.ts'
import { printJson } from '../command-line/output.ts'
import { type SourceArgs, withConfigOption } from '../command-line/source-options.ts'

/** `svc config schema`: the JSON Schema of the config file. */
export const configSchemaCommand: Command<SourceArgs> = {
  usage: 'schema',
  describe: 'Print the JSON Schema of the config file',
  options: (yargs) => withConfigOption(yargs).example('$0 config schema > svc.schema.json', 'for an editor'),
  run: async () => {
    const { schemaJson } = await import('@svc/config')
    printJson(schemaJson())
    return ExitCode.ok
  },
}
