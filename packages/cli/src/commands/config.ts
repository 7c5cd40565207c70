import type { Argv } from 'yargs'
import { addCommand } from '../command-line/command.ts'
import { configCheckCommand } from './config-check.ts'
import { configSchemaCommand } from './config-schema.ts'
import { configShowCommand } from './config-show.ts'

/** Adds `svc config` with its commands. */
export function addConfigCommands(yargs: Argv, settle: (exitCode: number) => void): Argv {
  return yargs.command('config', 'Check and show the configuration', (config: Argv) => {
    addCommand(config, configCheckCommand, settle)
    addCommand(config, configShowCommand, settle)
    addCommand(config, configSchemaCommand, settle)
    return config
      .demandCommand(1, 'Name a command: check, show or schema.')
      .strict()
      .example('$0 config check --config new.toml', 'find every mistake of a file in one go')
  })
}
