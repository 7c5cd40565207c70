/** The words that may follow commands which have commands of their own. */
export const subCommandNames: Readonly<Record<string, readonly string[]>> = {
  config: ['check', 'show', 'schema'],
  purge: ['l0', 'isr', 'proxy', 'modules', 'app'],
  workers: ['restart'],
  isolate: ['flush'],
}
/** The commands by their first word. */
export const commandNames: readonly string[] = [
  'serve',
  'reload',
  'stop',
  'status',
  'sites',
  'routes',
  'new',
  'systemd',
  ...Object.keys(subCommandNames),
]
const optionNames = [
  'config',
  'platform',
  'site',
  'listen',
  'production',
  'dir',
  'json',
  'timeout',
  'path',
  'host',
  'tag',
  'pattern',
  'prefix',
  'user',
  'help',
  'version',
]

/** Finds the known name that a mistyped one most likely means. */
type FindNearest = (name: string, known: Iterable<string>) => string | undefined

/** Finds an option on the command line as it was typed: the parser reports `--no-cache` as `cache`. */
function typedOption(name: string, args: readonly string[]): string | undefined {
  const words = args.filter((word) => word.startsWith('-')).map((word) => word.replace(/=.*$/s, ''))
  return words.find((word) => word.replace(/^--?(?:no-)?/, '') === name || word.replace(/^--?/, '') === name)
}

function explainOne(name: string, args: readonly string[], nearest: FindNearest): string {
  const option = typedOption(name, args)
  if (option !== undefined) {
    const meant = nearest(name, optionNames)
    return `unknown option ${option}${meant === undefined ? '' : `; did you mean --${meant}?`}`
  }
  const [first, second] = args.filter((word) => !word.startsWith('-'))
  const subNames = name === second ? subCommandNames[first ?? ''] : undefined
  if (name !== first && subNames === undefined) return `unexpected argument "${name}"`
  const meant = nearest(name, subNames ?? commandNames)
  return `unknown command "${subNames === undefined ? name : `${first} ${name}`}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`
}

/**
 * Explains an invalid command line in the words of the user who typed it.
 * @param text the message of the parser
 * @param args the command line
 */
export function explainUsage(text: string, args: readonly string[], nearest: FindNearest): string {
  const unknown = /^Unknown (?:argument|command)s?: (.*)$/.exec(text)?.[1]
  if (unknown !== undefined) {
    // The parser reports `--some-option` a second time as `someOption`.
    const isTyped = (name: string) => args.includes(name) || typedOption(name, args) !== undefined
    const all = unknown.split(', ')
    const names = all.length === 1 ? all : all.filter(isTyped)
    return names.map((name) => explainOne(name, args, nearest)).join('\n     ')
  }
  if (text.startsWith('Not enough non-option arguments')) return 'an argument is missing'
  const exclusive = /^Arguments (\S+) and (\S+) are mutually exclusive$/.exec(text)
  if (exclusive?.[1] === undefined) return text
  const nameOf = (name = '') => (name === 'dir' && !args.some((word) => /^--dir\b/.test(word)) ? 'a directory' : `--${name}`)
  return `${nameOf(exclusive[1])} and ${nameOf(exclusive[2])} exclude each other`
}
