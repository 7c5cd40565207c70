import { Child, type Cleanup, svcCommand } from '@svc/testkit'

/** Result of a command. */
export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command that was built, as a user would, and waits for its end. From its source each run would take many times longer. */
export async function runSvc(
  t: Cleanup,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>>; readonly input?: string | Buffer } = {},
): Promise<Outcome> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS')
  const env = { ...Object.fromEntries(inherited), ...options.env }
  const { cwd = '/', input } = options
  const child = new Child(t, svcCommand, args, { cwd, env, stdin: input === undefined ? 'ignore' : 'pipe' })
  // A command may end before it has read all.
  child.process.stdin?.on('error', () => undefined).end(input)
  const { code } = await child.exited
  return { code, stdout: child.stdout, stderr: child.stderr }
}
