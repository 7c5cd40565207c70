import { execFile } from 'node:child_process'
import { closeSync, mkdirSync, openSync, symlinkSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { writeFiles } from '@svc/testkit'

/** Not in this process: a load that it runs would have its connections closed as idle meanwhile. */
const run = promisify(execFile)

const HUGE_BYTES = 500 * 1024 * 1024
const page = 'export default function Page() { return <p>hostile</p> }'

/** Puts something in the place of a path of a site. */
export type HostileChange = (path: string) => unknown

function sparse(path: string): void {
  closeSync(openSync(path, 'w'))
  truncateSync(path, HUGE_BYTES)
}

function repeated(text: string): HostileChange {
  return (path) => writeFiles(dirname(path), { [path.slice(dirname(path).length + 1)]: text })
}

/** Files that a tenant may put in the place of a module of its site, by name. */
export const hostileModules: Readonly<Record<string, HostileChange>> = {
  'a sparse file': sparse,
  'a link to a sparse file': (path) => {
    const target = `${path}.target`
    sparse(target)
    symlinkSync(target, path)
  },
  'a link to an endless device': (path) => symlinkSync('/dev/zero', path),
  'a link to a terminal': (path) => symlinkSync('/dev/tty', path),
  'a link out of the site': (path) => symlinkSync('/etc/passwd', path),
  'a link to itself': (path) => symlinkSync(path, path),
  'a link to nothing': (path) => symlinkSync('nothing', path),
  'a pipe': (path) => run('mkfifo', [path]),
  'a socket': (path) => {
    const listen = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
    return run('sh', ['-c', `"${process.execPath}" -e "${listen}" "${path}" || true`])
  },
  'a directory': (path) => mkdirSync(path),
  'syntax without bottom': repeated(`export default ${'('.repeat(300_000)}`),
  'operators without bottom': repeated(`export default ${'!'.repeat(300_000)}1`),
  'no text': repeated('\0'.repeat(100_000)),
  'a page': repeated(page),
}

/** Changes that a tenant may make to the tree below its app directory, by name. Each gets a path that is not there. */
export const hostileTrees: Readonly<Record<string, HostileChange>> = {
  'very many files': (path) => {
    mkdirSync(path)
    return run('sh', ['-c', 'seq 1 25000 | xargs touch'], { cwd: path })
  },
  'deep directories': (path) => writeFiles(path, { [`${'d/'.repeat(500)}page.tsx`]: page }),
  'links in a circle': (path) => {
    mkdirSync(path)
    for (let i = 0; i < 40; i++) symlinkSync(path, join(path, `l${i}`))
  },
  'a link to the root of the machine': (path) => symlinkSync('/', path),
  'slots without end': (path) =>
    writeFiles(path, Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`@s${i}/[...all]/page.tsx`, page]))),
}

/** Removes what is at a path, whatever it is. */
export async function remove(path: string): Promise<void> {
  await run('rm', ['-rf', path, `${path}.target`])
}
