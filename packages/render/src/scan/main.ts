// Entry of a scan process, forked by a render host. Only this process looks at the files of a tenant: a read that never returns, or
// a text that crashes the parser, harms no other.
import { existsSync, realpathSync } from 'node:fs'
import { createIpcChannel, keepCompiledCode, RpcPeer } from '@svc/core'
import { ExitCode, PROTOCOL_VERSION } from '@svc/protocol'
import type { SiteProblem } from '@svc/site'
import { scanSite } from '@svc/site/scan'
import { scanMethods, scanParentMethods } from '../contract/scan-methods.ts'
import type { ModuleCompilers } from './compile-modules.ts'
import { endWithParent } from './end-with-parent.ts'
import { foreignReact } from './foreign-react.ts'

// A terminal sends its signals to the whole process group: this process ends with its render host.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1'] as const) process.on(signal, () => undefined)

/** The pid of the parent, and "watch" where the kernel does not end this process with it. */
const [parentPid, watch] = process.argv.slice(2)
// It may have ended before the kernel was told.
if (process.ppid !== Number(parentPid)) process.exit(ExitCode.ok)
if (watch !== undefined) endWithParent(Number(parentPid))

function realPathOf(root: string): string {
  try {
    return realpathSync.native(root)
  } catch {
    // The directory is gone, as the manifest says.
    return root
  }
}

function reactProblems(root: string): SiteProblem[] {
  const message = foreignReact(root)
  return message === undefined ? [] : [{ severity: 'warning', file: root, message }]
}

let compilers: ModuleCompilers | undefined

/** Loaded here, with the resolver: a scan does without. */
async function moduleCompilers(): Promise<ModuleCompilers> {
  const { ModuleCompilers } = await import('./compile-modules.ts')
  compilers ??= new ModuleCompilers()
  return compilers
}

let isCodeSaved = false

/** This process is killed in the end, and so cannot leave it until then. */
function saveCompiledCode(): void {
  if (isCodeSaved) return
  isCodeSaved = true
  setImmediate(keepCompiledCode)
}

const host = new RpcPeer({
  channel: createIpcChannel(process),
  local: scanMethods,
  handlers: {
    scan: ({ root, publicDir, files }) => ({
      manifest: scanSite({ root, publicDir, problems: reactProblems(root) }),
      realRoot: realPathOf(root),
      areThere: files.map((file) => existsSync(file)),
    }),
    compile: async (request) => {
      const reply = (await moduleCompilers()).compile(request)
      saveCompiledCode()
      return reply
    },
  },
  remote: scanParentMethods,
  protocolVersion: PROTOCOL_VERSION,
  peerName: 'render host',
  onProblem: () => process.exit(ExitCode.internal),
})

const end = () => process.exit(ExitCode.ok)
host.closed.then(end, end)
