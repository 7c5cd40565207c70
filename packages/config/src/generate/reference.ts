import { wrapWords } from '@svc/core'
import type { SchemaNode } from '../schema/schema-tree.ts'
import { tomlValue } from './config-toml.ts'
import { listSections, type Section, type SectionKey } from './sections.ts'

const LINE_WIDTH = 118

const head = `# Configuration reference

Every key of \`svc.config.toml\`, generated from the schema. Unknown keys are errors. A relative path starts from the
directory of the file that it is written in. The names of durations and sizes end in their unit.

An environment variable \`SVC_<SECTION>__<KEY>\` overrides any key (upper case, two underscores between levels), such as
\`SVC_SERVER__LISTEN\` or \`SVC_CACHE__ISR__MAX_BYTES\`. Write lists of strings with commas, other lists and tables as TOML
values. svc also reads a \`.env\` file beside the config file; variables of the operating system take precedence.

A secret may be written as \`env:NAME\` or \`file:/path\` instead of the value itself.
`

function typeOf(node: SchemaNode): string {
  if (node.enum !== undefined) return node.enum.map((choice) => `\`${JSON.stringify(choice)}\``).join(' or ')
  if (node.secret === true) return 'secret'
  if (node.path === true) return 'path'
  if (node.type === 'array') return `list of ${node.items?.type === 'object' ? 'table' : typeOf(node.items ?? {})}s`
  if (node.type === 'object') return 'table'
  if (node.anyOf !== undefined) return node.anyOf.map(typeOf).join(' or ')
  return node.type ?? 'value'
}

function defaultOf({ node }: SectionKey): string {
  if (node.computed !== undefined) return node.computed
  return node.default === undefined ? 'none' : `\`${tomlValue(node.default)}\``
}

/** Writes one key as an item of a list: a table of these texts would be wider than a page. */
function keyText(key: SectionKey): string {
  const details = key.isRequired ? `${typeOf(key.node)}, required` : `${typeOf(key.node)}; default: ${defaultOf(key)}`
  // Not at the spaces of code.
  const words = `**\`${key.name}\`** (${details}): ${key.node.description}`.match(/(?:`[^`]*`|[^\s`])+/g) ?? []
  return wrapWords(words, LINE_WIDTH, '-', ' ').join('\n')
}

function sectionText(section: Section): string {
  const title = section.isArray ? `[[${section.name}]]` : `[${section.name}]`
  const lines = [`\n## \`${title}\`\n`, section.node.description ?? '']
  if (section.keys.length > 0) lines.push('', ...section.keys.map((key) => keyText(key)))
  return lines.join('\n')
}

/** Writes the reference page of the config file in Markdown. */
export function referenceMarkdown(): string {
  return `${head}${listSections().map(sectionText).join('\n')}\n`
}
