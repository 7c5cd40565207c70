import { isAbsolute, resolve } from 'node:path'
import { readBounded } from '@svc/core'
import { type SchemaNode, visitValues } from '../schema/schema-tree.ts'
import type { Finding } from '../values/finding.ts'
import { type KeyPath, setAt } from '../values/key-path.ts'
import type { ConfigDocument } from './document.ts'

/** Result of replacing references to secrets. */
export interface ResolvedSecrets {
  readonly findings: readonly Finding[]
  /** Files that secrets were read from. */
  readonly files: readonly string[]
  /** Environment variables that hold secrets of the server. */
  readonly variables: readonly string[]
  /** Files of the configuration in which secrets are written out. */
  readonly literalFiles: readonly string[]
}

interface Reference {
  readonly path: KeyPath
  readonly scheme: 'env' | 'file'
  readonly target: string
}

/** The address of a store is a secret for its password alone. */
const ADDRESS_WITHOUT_PASSWORD = /^[a-z][a-z+-]*:\/\/[^@]*$/

/** The references in secrets, and the places of the others. */
function secretsIn(document: ConfigDocument, root: SchemaNode): { references: Reference[]; literals: KeyPath[] } {
  const references: Reference[] = []
  const literals: KeyPath[] = []
  visitValues(root, document.data, (path, value, node) => {
    if (node?.secret !== true || typeof value !== 'string') return
    const match = /^(env|file):(.*)$/s.exec(value)
    if (match === null) {
      if (!ADDRESS_WITHOUT_PASSWORD.test(value)) literals.push(path)
    } else references.push({ path, scheme: match[1] as Reference['scheme'], target: match[2] ?? '' })
  })
  return { references, literals }
}

/** No secret is longer. */
const MAX_SECRET_BYTES = 64 * 1024

/**
 * Replaces `env:NAME` and `file:/path` in the secrets of a document by their values. One line break at the end of a file
 * does not belong to the secret. A relative file starts from the directory of the file that names it.
 */
export async function resolveSecrets(
  document: ConfigDocument,
  root: SchemaNode,
  lookup: (name: string) => string | undefined,
): Promise<ResolvedSecrets> {
  const findings: Finding[] = []
  const files: string[] = []
  const variables: string[] = []
  const { references, literals } = secretsIn(document, root)
  const ofFiles = literals.filter((path) => document.originOf(path).kind === 'file')
  const literalFiles = [...new Set(ofFiles.map((path) => document.placeOf(path).file))]
  for (const { path, scheme, target } of references) {
    if (scheme === 'env') {
      variables.push(target)
      const value = lookup(target)
      if (value === undefined || value === '') findings.push({ path, message: `environment variable ${target} is not set` })
      else setAt(document.data, path, value)
      continue
    }
    const file = isAbsolute(target) ? target : resolve(document.directoryOf(path), target)
    const read = await readBounded(file, MAX_SECRET_BYTES)
    if (read.ok) {
      setAt(document.data, path, read.bytes.toString().replace(/\r?\n$/, ''))
      files.push(file)
    } else findings.push({ path, message: `cannot read secret file ${file}`, hint: read.why })
  }
  return { findings, files, variables, literalFiles }
}
