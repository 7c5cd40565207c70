/** Something to choose. */
export interface Command {
  readonly label: string
  /** "Page", "Site", "Action". */
  readonly kind: string
  run(): void
}

const MAX_SHOWN = 50

/** The words of a text by which the server finds sites: the host of a URL, or all but those of the kind "Site". */
export function siteWords(text: string): string {
  const url = /^https?:/i.test(text.trim()) ? URL.parse(text.trim()) : null
  if (url !== null) return url.hostname
  const words = text.toLowerCase().split(/\s+/)
  return words.filter((word) => !'site'.includes(word)).join(' ')
}

/** Commands that contain all words, those that begin with the text first. */
export function matching(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isMatch = ({ label, kind }: Command) => words.every((word) => `${kind} ${label}`.toLowerCase().includes(word))
  const begins = ({ label }: Command) => Number(label.toLowerCase().startsWith(text.toLowerCase()))
  return commands
    .filter(isMatch)
    .sort((one, other) => begins(other) - begins(one))
    .slice(0, MAX_SHOWN)
}
