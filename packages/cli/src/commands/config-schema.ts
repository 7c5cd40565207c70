import { ExitCode } from '@svc/protocol'
import type { Command } from '../command.ts'
import { printJson } from '../output.ts'
import { type SourceArgs, withConfigOption } from '../source-options.ts'

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
