/** The groups of two or more nodes of a graph (`Map` of a node to a `Set` of nodes) that reach each other (Tarjan). */
export function cyclesOf(graph) {
  const order = new Map()
  const low = new Map()
  const open = []
  const cycles = []
  const visit = (node) => {
    order.set(node, order.size)
    low.set(node, order.get(node))
    open.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next)
      if (open.includes(next)) low.set(node, Math.min(low.get(node), low.get(next)))
    }
    if (low.get(node) !== order.get(node)) return
    const group = open.splice(open.indexOf(node))
    if (group.length > 1) cycles.push(group.sort())
  }
  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return cycles
}
