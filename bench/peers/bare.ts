import { join } from 'node:path'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { repositoryRoot } from './svc.ts'

/** Starts one of the bare servers in `bench/servers`, which respond to every request with the bytes of a file. */
export function startBareServer(name: 'uws' | 'node-http', file: string, contentType: string): Promise<ServerProcess> {
  return startPinned({
    command: join(repositoryRoot, 'bin/node'),
    args: ['--disable-warning=ExperimentalWarning', join(repositoryRoot, `bench/servers/${name}.ts`), file, contentType],
    ready: (output) => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0],
  })
}
