import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { messageOf } from '@svc/core'
import { CliError } from './errors.ts'
import { printMessage } from './output.ts'

/** Reads lines at the terminal without showing them, one for each prompt. Readline restores the terminal when it closes. */
async function askHidden(prompts: readonly string[]): Promise<string[]> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  let isInterrupted = false
  terminal.on('SIGINT', () => {
    isInterrupted = true
    terminal.close()
  })
  // It keeps the lines that arrive between two prompts: a pasted text has both.
  const lines = terminal[Symbol.asyncIterator]()
  const answers: string[] = []
  try {
    for (const prompt of prompts) {
      process.stderr.write(prompt)
      const { value, done } = await lines.next()
      process.stderr.write('\n')
      if (isInterrupted) throw new CliError('CLI_INTERRUPTED', 'interrupted')
      if (done === true) break
      answers.push(value)
    }
    return answers
  } finally {
    terminal.close()
  }
}

async function askTwice(): Promise<string> {
  const [password = '', again] = await askHidden(['Password: ', 'Repeat the password: '])
  if (again !== undefined && again !== password) throw new CliError('CLI_USAGE', 'the passwords differ; nothing was printed')
  return again === undefined ? '' : password
}

/** Reads the first line of a pipe or a file, up to the chunk in which it exceeds `maxBytes`. */
async function readLine(maxBytes: number): Promise<string> {
  let text = ''
  try {
    for await (const chunk of process.stdin.setEncoding('utf8')) {
      text += chunk
      if (text.includes('\n') || text.length > maxBytes) break
    }
  } catch (error) {
    throw new CliError('CLI_USAGE', `cannot read the password from standard input: ${messageOf(error)}`, { cause: error })
  }
  return text.split(/\r?\n/, 1)[0] ?? ''
}

/**
 * Returns the password that the command line gives. Without one, asks for it at the terminal, hidden and twice; without a terminal,
 * reads the first line of standard input.
 * @throws CLI_USAGE if there is none or it cannot be one, CLI_INTERRUPTED on Ctrl-C
 */
export async function readPassword(given: string | undefined): Promise<string> {
  const { isPassword, MAX_PASSWORD_BYTES } = await import('@svc/auth')
  if (given !== undefined) {
    printMessage(
      'warning: other users of this machine can see a password on the command line, and the shell may store it; leave it out to be asked for it',
    )
  }
  const password = given ?? (process.stdin.isTTY ? await askTwice() : await readLine(MAX_PASSWORD_BYTES))
  if (password === '') throw new CliError('CLI_USAGE', 'no password: type it at a terminal, or write it to standard input')
  if (!isPassword(password)) throw new CliError('CLI_USAGE', `a password has at most ${MAX_PASSWORD_BYTES} bytes`)
  if (password.includes('\ufffd')) throw new CliError('CLI_USAGE', 'the password is not valid UTF-8')
  return password
}
