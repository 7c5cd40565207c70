import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type Cleanup, tempDir, writeFiles } from '@svc/testkit'
import type { ServerSurroundings } from '../src/blocks/check-servers.ts'
import { type ReadWeb, readWeb } from '../src/read-web.ts'
import { formatProblem } from '../src/syntax/config-problem.ts'

/** Vhost files of a directory, read, with that directory cut off from all places. */
export interface ReadText extends ReadWeb {
  readonly dir: string
  readonly lines: readonly string[]
}

const nothingElse: ServerSurroundings = {
  hosts: [],
  taken: [],
  hasCertificates: true,
  maxHeaderBytes: 32_768,
  engine: 'uws',
  engineTls: 'uws',
}

/** Reads `*.conf` of a new directory with these files. */
export async function readFiles(
  t: Cleanup,
  files: Readonly<Record<string, string>>,
  surroundings: Partial<ServerSurroundings> = {},
): Promise<ReadText> {
  const dir = tempDir(t, 'vhosts')
  writeFiles(dir, files)
  return readDir(dir, surroundings)
}

/** Reads the files of a directory that a glob matches. */
export async function readDir(dir: string, surroundings: Partial<ServerSurroundings> = {}, glob = '*.conf'): Promise<ReadText> {
  const place = { file: 'svc.config.toml', line: 1, column: 1 }
  const globs = [{ glob: join(dir, glob), place }]
  const read = await readWeb({ globs, baseDir: dir, surroundings: { ...nothingElse, ...surroundings } })
  const short = (text: string) => text.replaceAll(`${dir}/`, '').replaceAll(dir, '.')
  return { ...read, dir, lines: read.problems.map((problem) => short(formatProblem(problem))), notices: read.notices.map(short) }
}

/** Reads one text without problems. */
export async function readConf(t: Cleanup, text: string, surroundings?: Partial<ServerSurroundings>): Promise<ReadText> {
  const read = await readFiles(t, { 'a.conf': text }, surroundings)
  assert.deepEqual(read.lines, [])
  return read
}
