import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { codeOf, messageOf } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { installation, ownCommand, shellWord } from '../command-line/installation.ts'
import { printData, printMessage } from '../command-line/output.ts'
import { withConfigOption } from '../command-line/source-options.ts'

interface NewArgs {
  readonly dir: string
}

/** Stands for the name of the site in the files of the template. */
const NAME = /__NAME__/g

/** Makes a package name of a directory name: letters, digits, dots, dashes and underscores. */
function packageName(title: string): string {
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '')
  return name === '' ? 'site' : name
}

/** Types come from the installed server: a site has no dependencies. */
const tsconfig = (installedAt: string) => ({
  compilerOptions: {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    strict: true,
    isolatedModules: true,
    skipLibCheck: true,
    noEmit: true,
    typeRoots: [join(installedAt, 'node_modules/@types')],
    types: ['react'],
    paths: { '@/*': ['./*'] },
  },
  files: [join(installedAt, 'packages/site/types/index.d.ts')],
  include: ['**/*.ts', '**/*.tsx'],
})

/** The files of a new site by relative path. */
async function siteFiles(title: string): Promise<[path: string, content: string][]> {
  const name = packageName(title)
  const template = join(installation(), 'packages/cli/template')
  const entries = await readdir(template, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = paths.sort().map(async (path): Promise<[string, string]> => {
    return [relative(template, path), (await readFile(path, 'utf8')).replace(NAME, name)]
  })
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
  return [
    ...(await Promise.all(files)),
    ['package.json', json({ name, version: '0.1.0', private: true, type: 'module', scripts: { dev: 'svc serve .' } })],
    ['tsconfig.json', json(tsconfig(installation()))],
    ['.gitignore', 'node_modules/\n.svc/\n.env\n'],
  ]
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
    const files = await siteFiles(basename(dir))
    try {
      await refuseUnlessEmpty(dir)
      for (const [name, content] of files) {
        const path = join(dir, name)
        await makeDirectory(dirname(path))
        // Never overwrites a file that was created in the meantime.
        await writeFile(path, content, { flag: 'wx' })
      }
    } catch (error) {
      if (error instanceof CliError || codeOf(error) === undefined) throw error
      throw new CliError('CLI_USAGE', `cannot write ${dir}: ${messageOf(error)}`, { cause: error })
    }
    for (const [name] of files) printData(join(relative(process.cwd(), dir) || '.', name))
    printMessage(`Now run: ${await ownCommand()} serve ${shellWord(args.dir)}`)
    return ExitCode.ok
  },
})
