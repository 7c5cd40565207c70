import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { codeOf, messageOf } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { installation, ownCommand, shellWord } from '../command-line/installation.ts'
import { printData, printMessage } from '../command-line/output.ts'
import { withConfigOption } from '../command-line/source-options.ts'
import { scaffoldFiles } from '../scaffold/scaffold-files.ts'

interface NewArgs {
  readonly dir: string
}

async function refuseUnlessEmpty(dir: string): Promise<void> {
  try {
    const names = await readdir(dir)
    if (names.length > 0) throw new CliError('CLI_USAGE', `${dir} is not empty; nothing was written`)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    if (codeOf(error) === 'ENOTDIR') throw new CliError('CLI_USAGE', `${dir} is a file`, { cause: error })
    throw error
  }
}

/**
 * Makes a directory and those above it that are missing. `recursive` of Node's own mkdir never returns where the file system
 * answers ENOENT for a directory whose parent exists, as /proc does.
 */
async function makeDirectory(dir: string): Promise<void> {
  try {
    await mkdir(dir)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    if (codeOf(error) !== 'ENOENT' || dirname(dir) === dir) throw error
    await makeDirectory(dirname(dir))
    await mkdir(dir)
  }
}

async function writeSite(dir: string): Promise<string[]> {
  const files = Object.entries(scaffoldFiles(basename(dir), installation()))
  for (const [name, content] of files) {
    const path = join(dir, name)
    await makeDirectory(dirname(path))
    // Never overwrites a file that was created in the meantime.
    await writeFile(path, content, { flag: 'wx' })
  }
  return files.map(([name]) => name)
}

/** `svc new`: a small site to begin with. */
export const newCommand = command<NewArgs>({
  usage: 'new <dir>',
  describe: 'Create a small site for "svc serve <dir>"',
  options: (yargs) =>
    withConfigOption(yargs)
      .positional('dir', { type: 'string', demandOption: true, describe: 'Directory to create; must be empty or absent' })
      .example('$0 new my-site && $0 serve my-site', 'create a site and serve it'),
  run: async (args) => {
    const dir = resolve(args.dir)
    try {
      await refuseUnlessEmpty(dir)
      for (const name of await writeSite(dir)) printData(join(relative(process.cwd(), dir) || '.', name))
    } catch (error) {
      if (error instanceof CliError || codeOf(error) === undefined) throw error
      throw new CliError('CLI_USAGE', `cannot write ${dir}: ${messageOf(error)}`, { cause: error })
    }
    printMessage(`Now run: ${await ownCommand()} serve ${shellWord(args.dir)}`)
    return ExitCode.ok
  },
})
