// Prints who may call which endpoint: starts the product and calls every endpoint as each sender.
//
//   npm run endpoints:matrix
import { senders, startWithAll, walkEndpoints } from './endpoint-walk.ts'

const roles = { machine: 'machine', elsewhere: 'elsewhere', vera: 'viewer', tom: 'tenant', ida: 'other', root: 'super' }

const closers: (() => unknown)[] = []
try {
  const server = await startWithAll({ after: (close) => void closers.push(close as () => unknown) })
  const rows = await walkEndpoints(server)
  const width = Math.max(...rows.map(({ endpoint }) => endpoint.method.length + endpoint.path.length + 1))
  const line = (name: string, cells: readonly string[]) =>
    [name.padEnd(width), ...cells.map((cell) => cell.padStart(9))].join(' ')
  const lines = rows.map(({ endpoint: { method, path }, statuses }) =>
    line(
      `${method} ${path}`,
      senders.map((sender) => `${statuses[sender]}`),
    ),
  )
  process.stdout.write(
    `${[
      line(
        '',
        senders.map((sender) => roles[sender]),
      ),
      ...lines,
    ].join('\n')}\n`,
  )
} finally {
  for (const close of closers.reverse()) await close()
}
