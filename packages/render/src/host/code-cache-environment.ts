/**
 * Returns the only variable of the environment that threads and processes of a host get: the directory in which Node.js keeps compiled
 * code of our own programs.
 */
export function codeCacheEnvironment(): Record<string, string> {
  const { NODE_COMPILE_CACHE: directory } = process.env
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory }
}
