import { nearestName } from '@svc/core'
import type { z } from 'zod'
import { nodeAt, type SchemaNode, suggestKey } from '../schema/schema-tree.ts'
import type { Finding } from '../values/finding.ts'
import { isTable, type KeyPath, valueAt } from '../values/key-path.ts'

type Issue = z.core.$ZodIssue

/** Says what kind of TOML value something is. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  if (isTable(value)) return 'a table'
  if (value instanceof Date) return 'a date'
  if (typeof value === 'string') return 'a string'
  if (typeof value === 'boolean') return 'a boolean'
  if (typeof value === 'number' && !Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : 'inf'
  return Number.isInteger(value) ? 'an integer' : 'a float'
}

const expectedKinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'a table',
  record: 'a table',
}

function wrongType(issue: Extract<Issue, { code: 'invalid_type' }>, value: unknown): string {
  if (value === undefined) return 'is required'
  return `expected ${expectedKinds[issue.expected] ?? issue.expected}, got ${kindOf(value)}`
}

function notInRange(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): string {
  const isSmall = issue.code === 'too_small'
  if (issue.origin === 'string' || issue.origin === 'array') return isSmall ? 'must not be empty' : 'is too long'
  const bound = isSmall ? issue.minimum : issue.maximum
  if (issue.inclusive === true) return isSmall ? `must be at least ${bound}` : `must be at most ${bound}`
  return isSmall ? `must be greater than ${bound}` : `must be less than ${bound}`
}

function wrongValue(values: readonly unknown[], value: unknown): Omit<Finding, 'path'> {
  if (value === undefined) return { message: 'is required' }
  const list = values.map((allowed) => JSON.stringify(allowed))
  const message = `expected ${list.slice(0, -1).join(', ')} or ${list.at(-1)}, got ${JSON.stringify(value)}`
  const near = typeof value === 'string' ? nearestName(value, values.map(String)) : undefined
  return { message, hint: near && `did you mean "${near}"?` }
}

function unknownKeys(root: SchemaNode, path: KeyPath, keys: readonly string[]): Finding[] {
  return keys.map((key) => ({ path: [...path, key], message: 'unknown key', hint: suggestKey(root, path, key) }))
}

function describeIssue(issue: Issue, value: unknown): Omit<Finding, 'path'> {
  switch (issue.code) {
    case 'invalid_type':
      return { message: wrongType(issue, value) }
    case 'too_small':
    case 'too_big':
      return { message: notInRange(issue) }
    case 'invalid_value':
      return wrongValue(issue.values, value)
    case 'invalid_format':
      return { message: issue.format === 'starts_with' ? 'must start with "/"' : issue.message }
    case 'invalid_key':
      return { message: issue.issues[0]?.message ?? 'invalid key' }
    default:
      return { message: issue.message }
  }
}

/** The findings of the kind of value that was meant, as far as the value shows it. */
function unionFindings(root: SchemaNode, data: unknown, { errors, path }: Extract<Issue, { code: 'invalid_union' }>): Finding[] {
  const isOtherKind = (issue: Issue) => issue.code === 'invalid_type' && issue.path.length === 0
  const meant = errors.find((issues) => !issues.some(isOtherKind))
  if (meant !== undefined)
    return schemaFindings(
      root,
      data,
      meant.map((issue) => ({ ...issue, path: [...path, ...issue.path] })),
    )
  const kinds = errors
    .flat()
    .flatMap((issue) => (issue.code === 'invalid_type' ? [expectedKinds[issue.expected] ?? issue.expected] : []))
  return [{ path: path as KeyPath, message: `expected ${kinds.join(' or ')}, got ${kindOf(valueAt(data, path as KeyPath))}` }]
}

/** Turns what the schema found wrong with `data` into findings for people. Values of secrets are not repeated. */
export function schemaFindings(root: SchemaNode, data: unknown, issues: readonly Issue[]): Finding[] {
  return issues.flatMap((issue) => {
    const path = issue.path as KeyPath
    if (issue.code === 'invalid_union') return unionFindings(root, data, issue)
    if (issue.code === 'unrecognized_keys') return unknownKeys(root, path, issue.keys)
    const value = nodeAt(root, path)?.secret === true ? '' : valueAt(data, path)
    return [{ path, ...describeIssue(issue, value) }]
  })
}
