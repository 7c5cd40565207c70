import { randomBytes } from 'node:crypto'
import { link, open, rename, stat, unlink } from 'node:fs/promises'
import type { VhostReport } from '@svc/config'
import { codeOf, messageOf, printableLine } from '@svc/core'
import { CliError } from '../command-line/errors.ts'

/** It holds no secret, and the user of the service has to read it. */
const MODE = 0o644
const MODE_BITS = 0o7777

/** Directories of a server whose config file is below /etc: those of the package and its unit. */
const SYSTEM_DIRECTORIES = {
  server: { state_dir: '/var/lib/svc', run_dir: '/run/svc' },
  cache: { dir: '/var/cache/svc' },
}

function comment(text: string): string {
  return `# ${printableLine(text)}`
}

/**
 * The text of a config file that serves vhost files.
 * @param glob absolute
 * @param path of the config file, absolute
 */
export async function configOf(glob: string, path: string, { servers, ignored }: VhostReport): Promise<string> {
  const { configToml } = await import('@svc/config')
  const addresses = [...new Set(servers.flatMap(({ listen }) => listen.map(({ address }) => address)))]
  const isSystem = path.startsWith('/etc/')
  const server = { vhosts: [glob], ...(isSystem ? SYSTEM_DIRECTORIES.server : {}) }
  const lines = [
    comment(`Serves the vhost files of ${glob}, which stay as they are: "svc reload" applies changes to them.`),
    comment(`They open ${addresses.length === 0 ? 'no address' : addresses.join(', ')}.`),
    ...(ignored.length === 0
      ? []
      : [comment(`Of their directives, these change nothing here: ${ignored.map(({ name }) => name).join(', ')}.`)]),
    '# All keys: svc.config.toml.example',
    '',
    configToml({ server, ...(isSystem ? { cache: SYSTEM_DIRECTORIES.cache } : {}) }).trimEnd(),
  ]
  return `${lines.join('\n')}\n`
}

/** Writes a file beside its place and moves it there. Without `isForced` a file that exists is never replaced. */
export async function writeConfig(path: string, text: string, isForced: boolean): Promise<void> {
  const partial = `${path}.${randomBytes(4).toString('hex')}.tmp`
  try {
    const before = isForced ? await stat(path).catch(() => undefined) : undefined
    const file = await open(partial, 'wx', MODE)
    try {
      await file.writeFile(text)
      // A file of the package is readable for a group alone, and stays so.
      if (before !== undefined) {
        await file.chown(before.uid, before.gid)
        await file.chmod(before.mode & MODE_BITS)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    if (isForced) await rename(partial, path)
    else await link(partial, path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new CliError('CLI_USAGE', `${path} exists: give --force to replace it`, { cause: error })
    throw new CliError('CLI_USAGE', `cannot write ${path}: ${messageOf(error)}`, { cause: error })
  } finally {
    // Moved, or never written.
    await unlink(partial).catch(() => undefined)
  }
}
