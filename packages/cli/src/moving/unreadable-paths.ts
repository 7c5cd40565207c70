import type { VhostReport } from '@svc/config'
import { userName } from '@svc/core'
import { CliError } from '../command-line/errors.ts'
import { forbiddenPaths } from '../doctor/checks/user-rights.ts'
import { type Machine, thisMachine } from '../doctor/model/machine.ts'

/** User that the unit of the package names. */
const SERVICE_USER = 'svc'

/** A path that the service's user has not the right to, or that does not exist. */
interface UnreadablePath {
  readonly path: string
  readonly purpose: string
}

interface Examined {
  readonly user: string
  /** Undefined: this user cannot find it out for the other one. */
  readonly paths: readonly UnreadablePath[] | undefined
}

async function userId(name: string, machine: Machine): Promise<number | undefined> {
  const ran = await machine.run('id', ['-u', '--', name])
  return ran?.code === 0 ? Number(ran.stdout) : undefined
}

/** The user that was named; else, for root, that of the package if there is one; else the one of this process. */
async function serviceUser(
  named: string | undefined,
  machine: Machine,
): Promise<{ readonly uid: number; readonly name: string }> {
  if (named !== undefined) {
    const uid = await userId(named, machine)
    if (uid === undefined) throw new CliError('CLI_USAGE', `there is no user "${named}"`)
    return { uid, name: named }
  }
  const self = process.geteuid?.() ?? 0
  const uid = self === 0 ? await userId(SERVICE_USER, machine) : undefined
  return uid === undefined ? { uid: self, name: userName() } : { uid, name: SERVICE_USER }
}

/** Finds the files and directories that vhost files name and the service's user cannot use. */
export async function unreadablePaths(
  { files, certificates, needs }: VhostReport,
  named: string | undefined,
  machine: Machine = thisMachine,
): Promise<Examined> {
  const user = await serviceUser(named, machine)
  const purposes = new Map<string, string>()
  for (const path of files) purposes.set(path, 'vhost file')
  for (const { cert, key } of certificates) purposes.set(cert, 'certificate').set(key, 'private key')
  const directories = new Map<string, string>()
  const sockets = new Map<string, string>()
  for (const { kind, path } of needs) {
    if (kind === 'socket') sockets.set(path, 'socket of an upstream')
    // Names in a directory are found without a list of them.
    else if (kind === 'root') directories.set(path, 'directory of "root"')
    else purposes.set(path, kind === 'alias' ? 'file or directory of "alias"' : 'file of passwords')
  }
  const found: UnreadablePath[] = []
  const checks = [
    ['r', purposes],
    ['x', directories],
    ['w', sockets],
  ] as const
  for (const [right, paths] of checks) {
    const refused = await forbiddenPaths({ user, machine }, [...paths.keys()], right)
    if (refused === undefined) return { user: user.name, paths: undefined }
    found.push(...refused.map((path) => ({ path, purpose: paths.get(path) ?? '' })))
  }
  return { user: user.name, paths: found }
}
