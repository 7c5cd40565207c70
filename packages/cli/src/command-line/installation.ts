import { access, constants, realpath } from 'node:fs/promises'
import { basename, delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Returns the directory of the bundles: the code that several bundles share is in `chunks` below them. */
function bundleDirectory(dir: string): string {
  return dir.endsWith('chunks') ? dirname(dir) : dir
}

/**
 * Returns the directory that this program is installed in.
 * @param ownFile absolute path of this module's file, as it runs
 */
export function installation(ownFile: string = fileURLToPath(import.meta.url)): string {
  const dir = dirname(ownFile)
  if (ownFile.endsWith('.ts')) return join(dir, '../../../..')
  return dirname(bundleDirectory(dir))
}

/** Returns the path of an installation that outlives a deployment: for a release in service the link that leads to it. */
export async function lastingInstallation(dir: string): Promise<string> {
  const link = join(dir, '../../current')
  const isLinked = basename(dirname(dir)) === 'releases' && (await realpath(link).catch(() => '')) === dir
  return isLinked ? link : dir
}

async function isOnPath(name: string): Promise<boolean> {
  const places = (process.env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '')
  const found = places.map((dir) =>
    access(join(dir, name), constants.X_OK).then(
      () => true,
      () => false,
    ),
  )
  return (await Promise.all(found)).includes(true)
}

/** Returns how this program is called from the current directory: by its name where a shell finds it, else by its path. */
export async function ownCommand(): Promise<string> {
  if (await isOnPath('svc')) return 'svc'
  const path = join(installation(), 'bin/svc')
  const near = relative(process.cwd(), path)
  return shellWord(near.startsWith('..') ? path : near)
}

/** Writes a text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Absolute paths of the programs that the master starts. */
interface Programs {
  readonly worker: string
  readonly renderHost: string
  readonly configCheck: string
  readonly unpack: string
}

/**
 * Finds the programs beside the one that runs: bundled files of one directory, or sources in their packages.
 * @param ownFile absolute path of this module's file, as it runs
 */
export function findPrograms(ownFile: string = fileURLToPath(import.meta.url)): Programs {
  const dir = dirname(ownFile)
  if (ownFile.endsWith('.ts')) {
    const packages = join(dir, '../../..')
    const source = (name: string) => join(packages, name)
    return {
      worker: source('worker/src/main.ts'),
      renderHost: source('render/src/host/main.ts'),
      configCheck: source('supervisor/src/config-check/main.ts'),
      unpack: source('supervisor/src/releases/unpack/main.ts'),
    }
  }
  const bundles = bundleDirectory(dir)
  const bundle = (name: string) => join(bundles, name)
  return {
    worker: bundle('worker.js'),
    renderHost: bundle('render-host.js'),
    configCheck: bundle('config-check.js'),
    unpack: bundle('unpack.js'),
  }
}
