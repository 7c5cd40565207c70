/**
 * Names the servers of an upstream group: by their addresses, and those that have the same one by their order too:
 * `10.0.0.1:80~1`, `10.0.0.1:80~2`.
 */
export function serverIds(servers: readonly { readonly address: string }[]): string[] {
  const counts = new Map<string, number>()
  for (const { address } of servers) counts.set(address, (counts.get(address) ?? 0) + 1)
  const seen = new Map<string, number>()
  return servers.map(({ address }) => {
    const nth = (seen.get(address) ?? 0) + 1
    seen.set(address, nth)
    return counts.get(address) === 1 ? address : `${address}~${nth}`
  })
}
