/** Breaks words into lines of at most `width` characters that begin with `first`, all but the first of them with `rest`. */
export function wrapWords(words: readonly string[], width: number, first: string, rest: string): string[] {
  const lines: string[] = []
  let line = first
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.length <= width) line = longer
    else {
      lines.push(line)
      line = rest === '' ? word : `${rest} ${word}`
    }
  }
  return [...lines, line]
}
