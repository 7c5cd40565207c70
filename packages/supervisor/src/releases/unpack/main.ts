// The program that unpacks one archive: an archive that is slow or hard to read holds up nothing but this process.
import { type UnpackRequest, unpackArchive } from './unpack-archive.ts'

process.once('message', (request: UnpackRequest) => {
  void unpackArchive(request).then((reply) => process.send?.(reply, () => process.disconnect()))
})
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
