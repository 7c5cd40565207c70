import { join } from 'node:path'
import { Child, type Cleanup, repositoryRoot } from '@svc/testkit'

/** What a command left behind. */
export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command line from its source as a process of its own and waits for its end. */
export async function runSvc(
  t: Cleanup,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Outcome> {
  const main = join(repositoryRoot, 'packages/cli/src/main.ts')
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS')
  const env = { ...Object.fromEntries(inherited), ...options.env }
  const node = ['--disable-warning=ExperimentalWarning', main, ...args]
  const child = new Child(t, join(repositoryRoot, 'bin/node'), node, { cwd: options.cwd ?? '/', env })
  const { code } = await child.exited
  return { code, stdout: child.stdout, stderr: child.stderr }
}
