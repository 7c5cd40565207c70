import { readBounded } from '@svc/core'
import { CliError } from '../command-line/errors.ts'
import type { Question } from './ask.ts'

const MAX_FILE_BYTES = 16 * 1024 * 1024
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

function readLine(line: string, place: string, isUnsafe: boolean): Question {
  const [, method = '', url = ''] = /^([A-Z]+)\s+(\S+)$/.exec(line) ?? []
  if (!/^https?:\/\/[^/]+/.test(url) || !URL.canParse(url)) {
    throw new CliError('CLI_USAGE', `${place}: expected a method and a URL, such as "GET http://a.example/path"`)
  }
  if (!isUnsafe && !SAFE.has(method)) {
    throw new CliError('CLI_USAGE', `${place}: ${method} may change something: give --unsafe to send it to both servers`)
  }
  const { host } = new URL(url)
  // As written: a parser of URLs would change it.
  const target = url.replace(/^https?:\/\/[^/?#]+/, '').replace(/#.*$/, '')
  return { method, host, target: target.startsWith('/') ? target : `/${target}`, headers: {} }
}

/**
 * Reads requests of a file, one line each: a method and a URL. Empty lines and those that begin with "#" do not count.
 * @throws CLI_USAGE
 */
export async function readRequests(path: string, isUnsafe: boolean): Promise<Question[]> {
  const read = await readBounded(path, MAX_FILE_BYTES)
  if (!read.ok) throw new CliError('CLI_USAGE', `cannot read ${path}: it ${read.why}`)
  const lines = read.bytes.toString('latin1').split('\n')
  return lines.flatMap((line, index) => {
    const text = line.trim()
    return text === '' || text.startsWith('#') ? [] : [readLine(text, `${path}:${index + 1}`, isUnsafe)]
  })
}
