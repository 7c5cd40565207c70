import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { readBounded, whyUnreadable } from '@svc/core'
import { type ConfigProblem, wholeOf } from '@svc/vhosts'
import { parse as parseDotenv } from 'dotenv'
import type { SchemaNode } from '../schema/schema-tree.ts'
import { ConfigDocument } from '../source/document.ts'
import { applyEnvOverrides, type Variables } from '../source/env-overrides.ts'
import { parseToml } from '../source/parse-toml.ts'
import { tomlPositions } from '../source/toml-positions.ts'
import type { Finding } from '../values/finding.ts'
import { isTable, type KeyPath, setAt, type Table } from '../values/key-path.ts'
import { type ConfigSource, candidateFiles, findConfigFile } from './config-source.ts'

/** The sources of a configuration, put together and not checked yet. */
export interface ReadDocument {
  readonly ok: true
  readonly document: ConfigDocument
  /** Directory of the config file, or of the standalone site. */
  readonly baseDir: string
  /** Variables of the operating system. */
  readonly osVariables: Variables
  /** Variables of the `.env` file beside the config file. */
  readonly dotenv: Variables
  readonly findings: readonly Finding[]
  readonly files: readonly string[]
}

const MAX_DOTENV_BYTES = 1024 * 1024

/** Result for a document that could not be read. */
interface Unreadable {
  readonly ok: false
  readonly problems: readonly ConfigProblem[]
}

interface TomlFile {
  readonly ok: true
  readonly file: string
  readonly data: Table
  readonly placeOf: (path: KeyPath) => ReturnType<typeof wholeOf>
}

function unreadable(file: string, message: string, hint?: string): Unreadable {
  return { ok: false, problems: [{ ...wholeOf(file), path: '', message, ...(hint === undefined ? {} : { hint }) }] }
}

async function readTomlFile(file: string, parse = parseToml): Promise<TomlFile | Unreadable> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    return unreadable(file, whyUnreadable(error))
  }
  return parseTomlFile(file, text, parse)
}

function parseTomlFile(file: string, text: string, parse: typeof parseToml): TomlFile | Unreadable {
  const parsed = parse(text, file)
  if (!parsed.ok) return { ok: false, problems: [parsed.problem] }
  // Positions are looked up only when there is something to report.
  let positions: ReturnType<typeof tomlPositions> | undefined
  const placeOf = (path: KeyPath) => {
    positions ??= tomlPositions(text)
    return { file, ...positions(path) }
  }
  return { ok: true, file, data: parsed.data, placeOf }
}

/** Variables of a `.env` file, or why it cannot be read. */
type ReadDotenv =
  | { readonly ok: true; readonly variables: Variables; readonly isThere: boolean }
  | { readonly ok: false; readonly why: string }

/** Reads a `.env` file, which may be a site's own: it is bounded and never waited for. Empty when there is none. */
export async function readDotenv(file: string): Promise<ReadDotenv> {
  const read = await readBounded(file, MAX_DOTENV_BYTES)
  if (read.ok) return { ok: true, variables: parseDotenv(read.bytes), isThere: true }
  if (read.code === 'ENOENT' || read.code === 'ENOTDIR') return { ok: true, variables: {}, isThere: false }
  return { ok: false, why: read.why }
}

function mergePlatform(document: ConfigDocument, platform: TomlFile): Finding[] {
  const directory = dirname(platform.file)
  const { apps, ...others } = platform.data
  const findings = Object.keys(others).map((key): Finding => {
    document.overlay([key], directory, platform.placeOf)
    return { path: [key], message: 'a platform file beside a config file holds [[apps]] only' }
  })
  const own = Array.isArray(document.data.apps) ? document.data.apps : []
  const added = Array.isArray(apps) ? apps : []
  document.data.apps = [...own, ...added]
  for (const index of added.keys()) {
    const place = (path: KeyPath) => platform.placeOf(['apps', index, ...path.slice(2)])
    document.overlay(['apps', own.length + index], directory, place)
  }
  return findings
}

async function readConfigFile(source: ConfigSource, parse: typeof parseToml): Promise<TomlFile | Unreadable> {
  const file = await findConfigFile(source)
  const candidates = candidateFiles(source)
  const [only] = candidates
  if (source.text !== undefined) return parseTomlFile(file ?? only ?? source.cwd, source.text, parse)
  if (file !== undefined) return readTomlFile(file, parse)
  if (candidates.length === 1 && only !== undefined) return unreadable(only, 'no such file')
  const hint = 'name one with --config, or serve a single site with "svc serve <dir>"'
  return unreadable(candidates.join(', '), 'no configuration file found', hint)
}

function overrideListen(document: ConfigDocument, source: ConfigSource): void {
  if (source.listen === undefined) return
  const path = ['server', 'listen']
  document.data.server ??= {}
  if (isTable(document.data.server)) setAt(document.data, path, source.listen)
  document.overlay(path, source.cwd, () => wholeOf('option --listen'), 'option')
}

interface Base {
  readonly ok: true
  readonly document: ConfigDocument
  readonly baseDir: string
  readonly dotenv: Variables
  readonly files: string[]
}

async function readBase(source: ConfigSource, parse: typeof parseToml): Promise<Base | Unreadable> {
  if (source.standalone !== undefined) {
    const baseDir = resolve(source.cwd, source.standalone.dir)
    const document = new ConfigDocument({}, baseDir, () => wholeOf(baseDir))
    return { ok: true, document, baseDir, dotenv: {}, files: [] }
  }
  const main = await readConfigFile(source, parse)
  if (!main.ok) return main
  const baseDir = dirname(main.file)
  const dotenvFile = join(baseDir, '.env')
  const dotenv = await readDotenv(dotenvFile)
  if (!dotenv.ok) return unreadable(dotenvFile, dotenv.why)
  const document = new ConfigDocument(main.data, baseDir, main.placeOf)
  const files = dotenv.isThere ? [main.file, dotenvFile] : [main.file]
  return { ok: true, document, baseDir, dotenv: dotenv.variables, files }
}

/**
 * Reads the file or files of a configuration, the `.env` beside it, and the overrides of the environment and command line.
 * @param parse reads the config file
 */
export async function readDocument(
  source: ConfigSource,
  root: SchemaNode,
  parse = parseToml,
): Promise<ReadDocument | Unreadable> {
  const base = await readBase(source, parse)
  if (!base.ok) return base
  const { document, baseDir, dotenv, files } = base
  const findings: Finding[] = []
  if (source.platform !== undefined && (source.file !== undefined || source.standalone !== undefined)) {
    const platform = await readTomlFile(resolve(source.cwd, source.platform))
    if (!platform.ok) return platform
    files.push(platform.file)
    findings.push(...mergePlatform(document, platform))
  }
  findings.push(...applyEnvOverrides(document, root, { ...dotenv, ...source.env }, source.cwd))
  overrideListen(document, source)
  return { ok: true, document, baseDir, osVariables: source.env, dotenv, findings, files }
}
