import { inertKeys } from '../inert-keys.ts'
import type { SchemaNode } from '../schema/schema-tree.ts'
import { listSections, type Section, type SectionKey } from './sections.ts'
import { tomlValue } from './toml-value.ts'

const head = `# Configuration reference

Every key of \`svc.config.toml\`. Unknown keys are errors. Relative paths start from the file that they are written in. Durations
and sizes carry their unit in the name of the key.

Any key can be overridden by an environment variable \`SVC_<SECTION>__<KEY>\` (two underscores between levels, upper case), such
as \`SVC_SERVER__LISTEN\` or \`SVC_CACHE__ISR__MAX_BYTES\`. Lists of texts are written with commas, other lists and tables as TOML
values. A \`.env\` file beside the config file is read too; the operating system's variables win.

A secret may be given as \`env:NAME\` or \`file:/path\` in place of the value itself.

Keys marked _not yet_ are accepted and checked but have no effect in this version; \`svc config check\` names those that are set.
`

function typeOf(node: SchemaNode): string {
  if (node.enum !== undefined) return node.enum.map((choice) => `\`${JSON.stringify(choice)}\``).join(' or ')
  if (node.secret === true) return 'secret'
  if (node.path === true) return 'path'
  if (node.type === 'array') return `list of ${node.items?.type === 'object' ? 'table' : typeOf(node.items ?? {})}s`
  if (node.type === 'object') return 'table'
  return node.type ?? 'value'
}

function defaultOf({ node, isRequired }: SectionKey): string {
  if (isRequired) return 'required'
  if (node.computed !== undefined) return node.computed
  return node.default === undefined ? 'none' : `\`${tomlValue(node.default)}\``
}

function isInert(section: Section, key: SectionKey): boolean {
  const sectionKey = section.isArray ? `${section.name}[]` : section.name
  const full = `${sectionKey}.${key.name}`
  return inertKeys.some((inert) => full === inert || full.startsWith(`${inert}.`) || full.startsWith(`${inert}[`))
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

function row(section: Section, key: SectionKey): string[] {
  const meaning = `${key.node.description}${isInert(section, key) ? ' _Not yet._' : ''}`
  return [`\`${key.name}\``, typeOf(key.node), defaultOf(key), meaning].map(cell)
}

/** Writes a table with columns of equal width, the form that the formatter of this repository keeps. */
function tableText(rows: readonly (readonly string[])[]): string[] {
  const headings = ['key', 'type', 'default', 'meaning']
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: readonly string[]) => `| ${cells.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(headings), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
}

function sectionText(section: Section): string {
  const title = section.isArray ? `[[${section.name}]]` : `[${section.name}]`
  const lines = [`\n## \`${title}\`\n`, section.node.description ?? '']
  if (section.keys.length > 0) {
    lines.push('', ...tableText(section.keys.map((key) => row(section, key))))
  }
  return lines.join('\n')
}

/** Writes the reference page of the config file in Markdown. */
export function referenceMarkdown(): string {
  return `${head}${listSections().map(sectionText).join('\n')}\n`
}
