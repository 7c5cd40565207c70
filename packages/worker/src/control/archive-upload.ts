import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, open, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Upload, UploadOrder } from '@svc/admin'
import { codeOf, type RpcPeer, withDeadline } from '@svc/core'
import { HttpError, type RequestBody } from '@svc/http'
import type { masterMethods, workerMethods } from '@svc/protocol'
import { WorkerError } from '../errors/errors.ts'

const PRIVATE = 0o600
/** A sender that goes on all the time must end as well. */
const LIMIT_MS = 3_600_000
/** RFC 1952 section 2.3.1. */
const GZIP_MAGIC = [0x1f, 0x8b]
/** Left for the files of the server itself, below the room of all uploads. */
const SPARE_BYTES = 67_108_864
const noSpace = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Dependencies of an upload. */
interface UploadParts {
  readonly master: Pick<RpcPeer<typeof workerMethods, typeof masterMethods>, 'call'>
  /** Time for the master to answer. */
  readonly answer: { readonly timeoutMs: number }
  /** @default an hour */
  readonly limitMs?: number
}

/**
 * Stores the body of a request as an archive of a site. Of one that breaks off nothing is left.
 * @throws UPLOAD_INVALID, UPLOAD_NO_SPACE, HTTP_REQUEST_TIMEOUT, the error of the body, and those of the master
 */
export async function uploadArchive(parts: UploadParts, order: UploadOrder, body: RequestBody): Promise<Upload> {
  try {
    return await store(parts, order, body)
  } catch (error) {
    const code = codeOf(error) ?? ''
    if (noSpace.has(code)) throw new WorkerError('UPLOAD_NO_SPACE', { code }, { cause: error })
    throw error
  }
}

async function store(
  { master, answer, limitMs = LIMIT_MS }: UploadParts,
  order: UploadOrder,
  body: RequestBody,
): Promise<Upload> {
  // Made here, so that the upload can be ended even if the reply of the master is lost.
  const id = randomBytes(16).toString('hex')
  try {
    const { partial, reserved } = await master.call('beginUpload', { id, ...order, bytes: body.length }, answer)
    await checkSpace(dirname(partial), reserved)
    const written = await writeFile(partial, body, limitMs)
    const { file } = await master.call('endUpload', { id, bytes: written.bytes }, answer)
    if (file === undefined) throw new WorkerError('UPLOAD_INVALID', 'the upload was aborted while it was complete: send it again')
    return { file, ...written }
  } catch (error) {
    // The master deletes the file at the latest when this process ends: the first failure is the one to show.
    await master.call('endUpload', { id }, answer).catch(() => undefined)
    throw error
  }
}

/** Refuses an upload that could fill the disk: the server writes its own state there. @throws UPLOAD_NO_SPACE */
async function checkSpace(directory: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  if (bavail * bsize < neededBytes + SPARE_BYTES) throw new WorkerError('UPLOAD_NO_SPACE', { code: 'ENOSPC' })
}

async function writeFile(path: string, body: RequestBody, limitMs: number): Promise<Omit<Upload, 'file'>> {
  const file = await open(path, 'wx', PRIVATE)
  try {
    const written = await writeBody(file, body, limitMs)
    await file.sync()
    return written
  } finally {
    await file.close()
  }
}

/** Writes a body chunk by chunk: each is acknowledged when the file has it, which slows the sender down to the disk. */
async function writeBody(file: Pick<FileHandle, 'writeFile'>, body: RequestBody, limitMs: number): Promise<Omit<Upload, 'file'>> {
  const hash = createHash('sha256')
  const complete = Promise.withResolvers<void>()
  let bytes = 0
  let isOver = false
  let last = Promise.resolve()
  const take = async (chunk: Uint8Array) => {
    if (isOver) return
    for (const [index, byte] of GZIP_MAGIC.entries()) {
      if (bytes <= index && bytes + chunk.byteLength > index && chunk[index - bytes] !== byte)
        throw new WorkerError('UPLOAD_INVALID', 'the upload is no gzip file: send a .tar.gz')
    }
    await file.writeFile(chunk)
    hash.update(chunk)
    bytes += chunk.byteLength
  }
  body.read(
    (chunk, ack) => {
      last = last.then(() => take(chunk)).then(() => ack(true))
      last.catch(complete.reject)
    },
    (error) => (error === undefined ? last.then(complete.resolve, complete.reject) : complete.reject(error)),
  )
  try {
    await withDeadline(complete.promise, limitMs, 'the upload').catch((error) => {
      if (codeOf(error) !== 'CORE_TIMEOUT') throw error
      throw new HttpError('HTTP_REQUEST_TIMEOUT', 'the upload did not arrive in time', { cause: error })
    })
  } finally {
    isOver = true
    // The file is closed behind the write in progress. Its failure is known already.
    await last.catch(() => undefined)
  }
  if (bytes === 0) throw new WorkerError('UPLOAD_INVALID', 'the upload is empty: send a .tar.gz')
  return { bytes, sha256: hash.digest('hex') }
}
