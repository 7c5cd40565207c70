// Uploads more than a file may have, as on a full disk: started under `ulimit -f`. Prints the error and the end of the upload as JSON.
import type { RequestBody } from '@svc/http'
import { uploadArchive } from '../src/control/archive-upload.ts'

const [, , partial = ''] = process.argv
const ended: unknown[] = []
const call = async (name: string, request: unknown) => {
  if (name === 'beginUpload') return { partial, reserved: 0 }
  ended.push((request as { bytes?: number }).bytes ?? null)
  return {}
}
const body: RequestBody = {
  isPresent: true,
  length: undefined,
  read(onChunk, onEnd) {
    onChunk(Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(200_000)]), () => onEnd(undefined))
  },
}
const master = { call } as unknown as Parameters<typeof uploadArchive>[0]['master']
await uploadArchive({ master, answer: { timeoutMs: 1_000 } }, { site: 'shop', username: 'tom' }, body).catch(
  ({ code, status }) => {
    process.stdout.write(JSON.stringify({ code, status, ended }))
  },
)
