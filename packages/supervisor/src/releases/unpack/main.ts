// The program that unpacks one archive, or copies one directory: one that is slow or hard to read holds up nothing but this process.
import { type UnpackRequest, unpackRelease } from './unpack-release.ts'

/** Behind those of the standard streams and of the channel. */
const SOURCE_FD = 4

// It concerns the log files of the server, and may be sent to all of its processes.
process.on('SIGUSR1', () => undefined)
process.once('message', (request: Omit<UnpackRequest, 'fd'>) => {
  void unpackRelease({ ...request, fd: SOURCE_FD }).then((reply) => process.send?.(reply, () => process.disconnect()))
})
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
