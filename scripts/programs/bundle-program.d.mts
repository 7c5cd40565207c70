import type { Plugin } from 'esbuild'

export function bundleProgram(program: {
  readonly name: string
  readonly path: string
  readonly root: string
  readonly outDir: string
  readonly external: string[]
  readonly plugins: Plugin[]
}): Promise<void>
