// The program behind bin/svc.
import { codeOf } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { runCli } from './run-cli.ts'

// A reader that has seen enough (`svc routes blog | head`) is no fault.
process.stdout.on('error', (error) => process.exit(codeOf(error) === 'EPIPE' ? ExitCode.ok : ExitCode.internal))

async function main(): Promise<void> {
  const code = await runCli(process.argv.slice(2))
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

void main()
