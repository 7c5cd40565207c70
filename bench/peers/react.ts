import { join } from 'node:path'
import { build } from 'esbuild'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { repositoryRoot, workDir } from './svc.ts'

/** Starts a server of node:http that renders the page of 100 rows with React's production build and nothing else. */
export async function startReact(): Promise<ServerProcess> {
  const outfile = join(workDir, 'react/server.cjs')
  await build({
    entryPoints: [join(repositoryRoot, 'bench/sites/react-on-node.tsx')],
    outfile,
    bundle: true,
    platform: 'node',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  return startPinned({
    command: join(repositoryRoot, 'bin/node'),
    args: [outfile],
    ready: (output) => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0],
  })
}
