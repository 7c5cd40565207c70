/** The subcommands of each command; "" is `svc` itself. */
const subcommands: Readonly<Record<string, readonly string[]>> = {
  '': ['serve', 'config', 'reload', 'stop', 'status', 'sites', 'routes', 'purge', 'workers', 'isolate', 'new', 'systemd'],
  config: ['check', 'show', 'schema', 'reset', 'endpoints', 'credentials'],
  'config endpoints': ['list', 'show', 'disable'],
  'config credentials': ['create', 'hash', 'token'],
  purge: ['l0', 'isr', 'proxy', 'modules', 'app'],
  workers: ['restart'],
  isolate: ['flush'],
}
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
  'username',
  'role',
  'tenant-id',
  'password',
  'ttl',
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
  const words = args.filter((word) => !word.startsWith('-'))
  const path = words.slice(0, words.indexOf(name)).join(' ')
  const known = subcommands[path]
  if (known === undefined) return `unexpected argument "${name}"`
  const meant = nearest(name, known)
  return `unknown command "${`${path} ${name}`.trim()}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`
}

/** The command of a command line whose help explains the rest. */
export function helpCommand(args: readonly string[]): string {
  let path = ''
  for (const word of args) {
    if (subcommands[path]?.includes(word) !== true) break
    path = `${path} ${word}`.trim()
  }
  return path === '' ? 'svc --help' : `svc ${path} --help`
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
  const choice = /^Invalid values:\n {2}Argument: (\S+), Given: (".*"), Choices: (.*)$/s.exec(text)
  if (choice !== null) return `unknown ${choice[1]} ${choice[2]}; valid are ${choice[3]}`
  const exclusive = /^Arguments (\S+) and (\S+) are mutually exclusive$/.exec(text)
  if (exclusive?.[1] === undefined) return text
  const nameOf = (name = '') => (name === 'dir' && !args.some((word) => /^--dir\b/.test(word)) ? 'a directory' : `--${name}`)
  return `${nameOf(exclusive[1])} and ${nameOf(exclusive[2])} exclude each other`
}
