// The program that validates one configuration: vhost files, certificates and secrets that a text names are read here, where a file
// without an end, or a slow one, holds up nothing but this process.
import { type CheckRequest, checkConfigText } from './check-config-text.ts'

// It concerns the log files of the server, and may be sent to all of its processes.
process.on('SIGUSR1', () => undefined)
process.once('message', (request: CheckRequest) => {
  void checkConfigText(request).then((verdict) => process.send?.(verdict, () => process.disconnect()))
})
// A thread of this process may be blocked in the kernel: an ordinary exit would wait for it.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
