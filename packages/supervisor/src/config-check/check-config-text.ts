import { isAbsolute } from 'node:path'
import { type ConfigProblem, type ConfigSource, candidateFiles, findConfigFile, loadConfig } from '@svc/config'
import type { ConfigVerdict } from '@svc/protocol'

/** A text to validate. */
export interface CheckRequest {
  /** Source of the running configuration. */
  readonly source: ConfigSource
  readonly toml: string
}

/** Most problems in an answer: a short text can name many wrong files. */
const MAX_LISTED = 1_000

/**
 * Validates a text as the content of a config file at the place of the running one. Messages about other files quote them. Those about
 * files that the running configuration does not read are withheld, or a client could read any file of the server.
 */
export async function checkConfigText({ source, toml }: CheckRequest): Promise<ConfigVerdict> {
  const { standalone: _, ...asFile } = source
  const result = await loadConfig({ ...asFile, text: toml })
  if (result.ok) return { sites: result.sites.length, notices: [...result.notices], problems: [] }
  const running = await loadConfig(source)
  const own = (await findConfigFile(asFile)) ?? candidateFiles(asFile)[0]
  const readable = new Set(running.ok ? running.files : [])
  const problems = result.problems.slice(0, MAX_LISTED).map((problem) => {
    if (problem.file === own) return problemOfText(problem)
    const { file, line, column } = problem
    const isShown = readable.has(file) || !isAbsolute(file)
    const message = isShown ? messageOf(problem) : 'is invalid; "svc config check" says why'
    return { path: line === 0 ? file : `${file}:${line}:${column}`, message }
  })
  return { sites: 0, notices: [], problems }
}

function messageOf({ message, hint }: ConfigProblem): string {
  return hint === undefined ? message : `${message} (${hint})`
}

function problemOfText(problem: ConfigProblem): ConfigVerdict['problems'][number] {
  const { path, line, column } = problem
  return { path, message: line === 0 ? messageOf(problem) : `line ${line}, column ${column}: ${messageOf(problem)}` }
}
