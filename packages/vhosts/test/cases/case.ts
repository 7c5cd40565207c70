/**
 * A piece of a vhost file: where it stands, its text, the problems that it has (`line:column: message (hint)`, lines counted from the
 * piece), and how nginx takes it where it does not agree: `differs`, or `ours` for directives that nginx does not have.
 * `$DIR` stands for a directory of the test's own.
 */
export type VhostCase = readonly [
  level: 'main' | 'server' | 'location',
  text: string,
  problems?: readonly string[],
  nginx?: 'differs' | 'ours',
]

const around = {
  main: ['', ''],
  server: ['server { listen unix:$DIR/w.sock;\n', '\n}'],
  location: ['server { listen unix:$DIR/w.sock; location / {\n', '\n} }'],
} as const

/** The whole file for a case, and by how many lines its piece is further down. */
export function fileOf([level, text]: VhostCase, dir: string): { readonly text: string; readonly linesBefore: number } {
  const [before, after] = around[level]
  return { text: `${before}${text}${after}`.replaceAll('$DIR', dir), linesBefore: level === 'main' ? 0 : 1 }
}
