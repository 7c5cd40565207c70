/** Comments, strings and addresses without quotes: text in which nothing of a style sheet's structure stands. */
const inert = /\/\*[\s\S]*?(?:\*\/|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?|\burl\([^)"']*\)/gi

/** Blanks a style sheet's comments, strings and addresses out; every offset stays what it is. */
function bareText(source: string): string {
  return source.replace(inert, (text) => text.replace(/[^\n]/g, ' '))
}

/** Something to say about a place of a style sheet. */
export interface StyleRemark {
  readonly offset: number
  readonly message: string
  readonly hint: string
}

/** At-rules of Tailwind: browsers drop them, with what depends on them. */
const tailwindRule = /@(?:tailwind|apply|theme|utility|variant|custom-variant|plugin|config|source)(?![\w-])/i
const moduleSyntax = /(?<![\w:-])composes\s*:|:(?:global|local)(?![\w-])/i

/** Rules that browsers drop without a word: worth a warning. */
export function warningsOf(source: string, isModule: boolean): readonly StyleRemark[] {
  const bare = bareText(source)
  const tailwind = tailwindRule.exec(bare)
  const misplaced = isModule ? null : moduleSyntax.exec(bare)
  return [
    ...(tailwind === null
      ? []
      : [
          {
            offset: tailwind.index,
            message: `${tailwind[0]} has no effect: Tailwind is not run by the server`,
            hint: 'build the style sheet with the command of Tailwind and import its output',
          },
        ]),
    ...(misplaced === null
      ? []
      : [
          {
            offset: misplaced.index,
            message: `"${misplaced[0]}" has no effect in a global sheet`,
            hint: 'name the file *.module.css',
          },
        ]),
  ]
}

/** The classes of its own file that `composes` of a CSS module names. */
interface Composed {
  readonly name: string
  readonly offset: number
}

const composition = /(?<![\w-])composes\s*:([^;{}]*)/gi
const className = /\.(-?[_a-z\u0080-\uffff][\w\u0080-\uffff-]*)/gi

function composedHere(bare: string): readonly Composed[] {
  return [...bare.matchAll(composition)].flatMap((match) => {
    const names = match[1] ?? ''
    if (/(?:^|\s)from(?:\s|$)/i.test(names)) return []
    const start = match.index + match[0].length - names.length
    return [...names.matchAll(/[^\s,!]+/g)].map((name) => ({ name: name[0], offset: start + name.index }))
  })
}

/** The first thing in a CSS module that cannot be compiled; undefined: there is none. */
export function faultOf(source: string): StyleRemark | undefined {
  const bare = bareText(source)
  const value = /@value(?![\w-])/i.exec(bare)
  if (value !== null) {
    return { offset: value.index, message: '@value is not supported', hint: 'use a custom property: --name and var(--name)' }
  }
  const known = new Set([...bare.matchAll(className)].map(([, name]) => name))
  const unknown = composedHere(bare).find(({ name }) => !name.includes('\\') && !known.has(name))
  if (unknown === undefined) return undefined
  const { offset, name } = unknown
  return {
    offset,
    message: `composes: there is no class "${name}" in this file`,
    hint: 'name its file: composes: name from "./x.module.css"',
  }
}

/**
 * Where classes of a file compose each other; undefined: nowhere.
 * @param classes class name as written -> generated names, its own last
 */
export function circleOf(source: string, classes: Readonly<Record<string, string>>): StyleRemark | undefined {
  const names = new Map(Object.entries(classes).map(([name, generated]) => [name, generated.split(' ')]))
  const uses = (from: string, target: string) => names.get(from)?.includes(names.get(target)?.at(-1) ?? '') === true
  const composed = composedHere(bareText(source))
  for (const { name, offset } of composed) {
    const other = composed.find((one) => one.name !== name && uses(name, one.name) && uses(one.name, name))
    if (other === undefined) continue
    return { offset, message: `composes: "${name}" and "${other.name}" compose each other`, hint: 'leave one of them out' }
  }
  return undefined
}
