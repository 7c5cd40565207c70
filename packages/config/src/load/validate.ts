import type { ConfigProblem } from '@svc/vhosts'
import { configSchema, type ParsedConfig } from '../schema/config-schema.ts'
import type { SchemaNode } from '../schema/schema-tree.ts'
import { pruneFaults } from '../source/prune.ts'
import { schemaFindings } from '../source/schema-findings.ts'
import type { Finding } from '../values/finding.ts'
import type { KeyPath } from '../values/key-path.ts'

/** What is left of a document after the schema has seen it. */
export interface Validated {
  /** The valid part, with defaults. Undefined when nothing can be made of it. */
  readonly parsed: ParsedConfig | undefined
  /** What the schema found, with paths in the whole document. */
  readonly findings: readonly Finding[]
  /** Leads from a path in `parsed` to the path in the whole document. */
  readonly originalPath: (path: KeyPath) => KeyPath
}

/** Checks data against the schema. Values at `faulty` paths are known to be wrong and left out. */
export function validate(root: SchemaNode, data: unknown, faulty: readonly KeyPath[]): Validated {
  const known = pruneFaults(root, data, faulty)
  const first = configSchema.safeParse(known.data)
  if (first.success) return { parsed: first.data, findings: [], originalPath: known.originalPath }
  const found = schemaFindings(root, known.data, first.error.issues)
  const findings = found.map((finding) => ({ ...finding, path: known.originalPath(finding.path) }))
  const rest = pruneFaults(root, data, [...faulty, ...findings.map(({ path }) => path)])
  const second = configSchema.safeParse(rest.data)
  return { parsed: second.success ? second.data : undefined, findings, originalPath: rest.originalPath }
}

/** Puts problems in the order of a reader: by file, then from top to bottom. */
export function inReadingOrder(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const files = [...new Set(problems.map(({ file }) => file))]
  return problems.toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column)
}
