import { wrapWords } from '@svc/core'
import { isTable } from '../values/key-path.ts'
import { tomlLine } from './config-toml.ts'
import { listSections, type Section, type SectionKey } from './sections.ts'

const LINE_WIDTH = 110

const head = `# Configuration of svc: every key with its default.
#
# A line that begins with "# " is a comment. A line that begins with "#" and no space is a setting, commented out: remove
# the "#" to set it, and the "#" of its [section]. Paths are relative to this file. An environment variable
# SVC_<SECTION>__<KEY>, such as SVC_SERVER__LISTEN, overrides any key.
`

function wrap(text: string): string[] {
  return wrapWords(text.split(' '), LINE_WIDTH, '#', '#')
}

function shownValue(section: Section, key: SectionKey): unknown {
  const [example] = section.node.items?.examples ?? []
  const fromExample = isTable(example) ? example[key.name] : undefined
  return fromExample ?? key.node.default ?? key.node.examples?.[0]
}

function keyLines(section: Section, key: SectionKey): string[] {
  const { node } = key
  const choices = node.enum === undefined ? '' : ` One of ${node.enum.map((choice) => JSON.stringify(choice)).join(', ')}.`
  const computed = node.computed === undefined ? '' : ` Default: ${node.computed}.`
  const value = shownValue(section, key)
  const lines = wrap(`${node.description}${choices}${computed}`)
  return value === undefined ? [...lines, `# (${key.name} has no default.)`] : [...lines, `#${tomlLine(key.name, value)}`]
}

function sectionLines(section: Section): string[] {
  const header = section.isArray ? `#[[${section.name}]]` : `#[${section.name}]`
  const title = wrap(section.node.description ?? '')
  const [, ...others] = section.node.items?.examples ?? []
  const further = others.filter(isTable).flatMap((example) => {
    const entries = Object.entries(example).map(([key, value]) => `#${tomlLine(key, value)}`)
    return ['', header, ...entries]
  })
  return ['', ...title, header, ...section.keys.flatMap((key) => keyLines(section, key)), ...further]
}

/** Writes the example config file: every key with its description, and its default or an example value, switched off. */
export function exampleToml(): string {
  return `${head}${listSections().flatMap(sectionLines).join('\n')}\n`
}
