/** Parses a URL of one of the given schemes (without colon). Undefined when it is malformed or of another scheme. */
export function parseUrl(text: string, schemes: readonly string[]): URL | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return schemes.includes(url.protocol.slice(0, -1)) && url.hostname !== '' ? url : undefined
}

/** Whether a text is a Redis URL or a comma-separated list of cluster nodes (URLs or `host:port`). */
export function isRedisUrl(text: string): boolean {
  const nodes = text.split(',').map((node) => node.trim())
  const isNode = (node: string) => parseUrl(node, ['redis', 'rediss']) !== undefined
  if (nodes.length === 1) return isNode(text)
  return nodes.every((node) => isNode(node) || /^[^\s:/@]+:\d{1,5}$/.test(node) || /^\[[0-9a-f:]+\]:\d{1,5}$/i.test(node))
}
