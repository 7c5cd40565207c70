/** Answers remembered for one pattern; the paths of a site that are asked for often are fewer. */
const MAX_ENTRIES = 512
/** Longer paths are not remembered, so that the memory has a bound in bytes too. */
const MAX_PATH_LENGTH = 256

/**
 * Remembers the answers of a test that depends on the path alone. When it is full it starts anew, which costs less than
 * keeping an order of use.
 */
export function rememberPaths(test: (path: string) => boolean): (path: string) => boolean {
  const known = new Map<string, boolean>()
  return (path) => {
    const answer = known.get(path)
    if (answer !== undefined) return answer
    const fresh = test(path)
    if (path.length > MAX_PATH_LENGTH) return fresh
    if (known.size >= MAX_ENTRIES) known.clear()
    known.set(path, fresh)
    return fresh
  }
}
