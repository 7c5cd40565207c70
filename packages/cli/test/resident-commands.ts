// Runs commands one after the other in one process, for tests that need the result of a command and no process of their own. Beside
// each command it has what a process would have: its arguments, environment, working directory and output.
import { asError } from '@svc/core'
import { runCli } from '../src/run-cli.ts'
import type { Command, Outcome } from './run-svc.ts'

/** Lets a stream collect texts instead of writing them. @returns what ends that */
function collect(stream: NodeJS.WriteStream, texts: string[]): () => void {
  const { write } = stream
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    texts.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
    const done = rest.find((one) => typeof one === 'function')
    if (done !== undefined) process.nextTick(done)
    return true
  }
  return () => {
    stream.write = write
  }
}

function setEnvironment(env: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
}

async function run({ args, cwd, env }: Command): Promise<Outcome> {
  const stdout: string[] = []
  const stderr: string[] = []
  const ends = [collect(process.stdout, stdout), collect(process.stderr, stderr)]
  const warned = ({ stack }: Error) => stderr.push(`${stack}\n`)
  process.on('warning', warned)
  try {
    setEnvironment(env)
    process.chdir(cwd)
    const code = await runCli(args)
    return { code, stdout: stdout.join(''), stderr: stderr.join('') }
  } finally {
    process.off('warning', warned)
    for (const end of ends) end()
  }
}

process.on('message', (command: Command) => {
  run(command).then(
    (outcome) => process.send?.(outcome),
    (error: unknown) => process.send?.({ failure: asError(error).stack }),
  )
})
process.once('disconnect', () => process.exit())
