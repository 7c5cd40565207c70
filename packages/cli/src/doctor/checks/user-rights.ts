import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Machine } from '../model/machine.ts'
import type { ServerUser } from '../model/subject.ts'

/** A right to a path, as the program `test` names it. */
type Right = 'r' | 'w' | 'x'

const modes: Readonly<Record<Right, number>> = { r: constants.R_OK, w: constants.W_OK, x: constants.X_OK }

/** Prints the paths that the user who runs it has not the right to. */
const SCRIPT = 'right=$1; shift; for path; do test "$right" "$path" || printf "%s\\0" "$path"; done'

/**
 * Returns those of the paths that the server's user has not the right to, as the kernel judges it. Undefined: this user cannot find
 * that out for another one.
 */
export async function forbiddenPaths(
  { user, machine }: { readonly user: Pick<ServerUser, 'uid' | 'name'>; readonly machine: Machine },
  paths: readonly string[],
  right: Right,
): Promise<readonly string[] | undefined> {
  const self = process.geteuid?.()
  if (self === user.uid) {
    const refused = await Promise.all(
      paths.map((path) =>
        access(path, modes[right]).then(
          () => false,
          () => true,
        ),
      ),
    )
    return paths.filter((_path, at) => refused[at])
  }
  if (self !== 0) return undefined
  const ran = await machine.run('runuser', ['-u', user.name, '--', 'sh', '-c', SCRIPT, 'sh', `-${right}`, ...paths], '/')
  if (ran?.code !== 0 && ran?.code !== 1) return undefined
  return ran.stdout.split('\0').filter((path) => path !== '')
}
