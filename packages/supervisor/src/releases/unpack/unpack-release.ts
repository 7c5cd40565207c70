import { createHash } from 'node:crypto'
import { lstatSync, read, realpathSync } from 'node:fs'
import { mkdir, opendir, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { messageOf } from '@svc/core'
import { type ReadEntry, UnpackSync } from 'tar'
import { TreeCopy } from './copy-tree.ts'
import { syncTree } from './sync-tree.ts'
import { fileMode, isInside, ONLY_USER, PERMISSIONS } from './tree-rules.ts'

/** A source of a release, which is unpacked or copied. */
export interface UnpackRequest {
  readonly kind: 'archive' | 'directory'
  /** The source, open: its path may lead elsewhere by now. */
  readonly fd: number
  /** Absolute path of a directory that does not exist yet. */
  readonly directory: string
  /** Of the archive, and of all files together. */
  readonly maxBytes: number
  readonly maxFiles: number
}

/** The digest of an archive that was unpacked, or why the source is refused: then some of it may be there. */
type UnpackReply = { readonly sha256?: string } | { readonly problem: string }

/** The headers of an entry and the rest of its last block. Names may be long: they come in entries of their own. */
const BYTES_PER_ENTRY = 2_048
const CHUNK_BYTES = 65_536
const readInto = promisify(read)

const kinds: Readonly<Record<string, 'file' | 'directory' | 'symlink' | 'link'>> = {
  File: 'file',
  OldFile: 'file',
  ContiguousFile: 'file',
  Directory: 'directory',
  SymbolicLink: 'symlink',
  Link: 'link',
}

type Limits = Pick<UnpackRequest, 'maxBytes' | 'maxFiles'>

/** Decides about entries as they come. */
class EntryCheck {
  readonly #root: string
  readonly #limits: Limits
  #files = 0
  #bytes = 0

  /** @param root real path */
  constructor(root: string, limits: Limits) {
    this.#root = root
    this.#limits = limits
  }

  /** Why an entry is refused; undefined: it is fine. */
  problem({ path, type, size = 0, linkpath = '' }: ReadEntry): string | undefined {
    const { maxBytes, maxFiles } = this.#limits
    const kind = kinds[type]
    const name = JSON.stringify(path.slice(0, 200))
    if (kind === undefined) return `${name} is neither a file, a directory nor a link (${type})`
    if (path.startsWith('/')) return `${name} is an absolute path`
    if (path.split('/').includes('..')) return `${name} contains ".."`
    if (++this.#files > maxFiles) return `there are more than ${maxFiles} entries`
    this.#bytes += Number.isSafeInteger(size) && size >= 0 ? size : Number.POSITIVE_INFINITY
    if (this.#bytes > maxBytes) return `the files have more than ${maxBytes} bytes (deploy.max_bytes)`
    const leaves = `${name} is a link to ${JSON.stringify(linkpath.slice(0, 200))}, which is not a file or directory of the archive`
    if (kind === 'symlink') {
      const isWithin = !linkpath.startsWith('/') && isInside(resolve(this.#root, dirname(path), linkpath), this.#root)
      return isWithin ? undefined : leaves
    }
    return kind === 'link' && !this.#isOwnFile(linkpath) ? leaves : undefined
  }

  /** A hard link would share a file that lies behind a symbolic link, or copy a symbolic link to where it leads elsewhere. */
  #isOwnFile(linkpath: string): boolean {
    try {
      const path = join(this.#root, linkpath)
      return !linkpath.startsWith('/') && realpathSync(path) === path && lstatSync(path).isFile() && isInside(path, this.#root)
    } catch {
      // It comes later in the archive, or not at all.
      return false
    }
  }
}

/** Symbolic links together may lead elsewhere than each of them seems to: returns one that leaves the tree. */
async function escapingLink(root: string): Promise<string | undefined> {
  for await (const entry of await opendir(root, { recursive: true })) {
    if (!entry.isSymbolicLink()) continue
    const link = join(entry.parentPath, entry.name)
    const target = await realpath(link).catch(() => undefined)
    if (target === undefined || !isInside(target, root)) return link.slice(root.length + 1)
  }
  return undefined
}

/** The content of an open file, which stays open: a stream of it would close it after an error. */
async function* chunksOf(fd: number): AsyncGenerator<Buffer> {
  for (;;) {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    const { bytesRead } = await readInto(fd, buffer, 0, CHUNK_BYTES, null)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/** Passes chunks on, up to so many bytes. */
function limited(maxBytes: number, onChunk: (chunk: Buffer) => void = () => undefined): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.byteLength
      onChunk(chunk)
      if (bytes > maxBytes) done(new RangeError(`the archive has more than ${maxBytes} bytes (deploy.max_bytes)`))
      else done(null, chunk)
    },
  })
}

/** Unpacks chunks of a tar file. Resolves with why it is refused. */
async function unpackChunks(chunks: AsyncIterable<Buffer>, root: string, limits: Limits): Promise<string | undefined> {
  const check = new EntryCheck(root, limits)
  let problem: string | undefined
  const isAllowed = (entry: ReadEntry) => {
    problem ??= check.problem(entry)
    return problem === undefined
  }
  const unpack = new UnpackSync({
    cwd: root,
    strict: true,
    preserveOwner: false,
    filter(_, entry) {
      const one = entry as ReadEntry
      one.mode = fileMode(one.mode ?? PERMISSIONS) | (one.type === 'Directory' ? ONLY_USER : 0)
      return isAllowed(one)
    },
  })
  // Entries of unknown types do not come to the filter.
  unpack.on('ignoredEntry', isAllowed)
  unpack.on('error', (error) => {
    problem ??= messageOf(error)
  })
  let hasEnded = false
  unpack.on('eof', () => {
    hasEnded = true
  })
  for await (const chunk of chunks) {
    // It writes files before it returns, so it never has to be waited for.
    if (!hasEnded) unpack.write(chunk)
    if (problem !== undefined) return problem
  }
  unpack.end()
  return problem
}

async function unpackArchive({ fd, maxBytes, maxFiles }: UnpackRequest, root: string): Promise<UnpackReply> {
  const hash = createHash('sha256')
  const hashed = limited(maxBytes, (chunk) => hash.update(chunk))
  const unzipped = limited(maxBytes + maxFiles * BYTES_PER_ENTRY)
  const [problem] = await Promise.all([
    unpackChunks(unzipped, root, { maxBytes, maxFiles }).catch(messageOf),
    // Its error comes out of the last stream.
    pipeline(chunksOf(fd), hashed, createGunzip(), unzipped).catch(() => undefined),
  ])
  return problem === undefined ? { sha256: hash.digest('hex') } : { problem }
}

async function copyDirectory({ fd, ...limits }: UnpackRequest, root: string): Promise<UnpackReply> {
  const problem = await new TreeCopy(root, limits).run({ fd })
  return problem === undefined ? {} : { problem }
}

/**
 * Unpacks an archive, or copies a directory, whose content is hostile until it is checked. Runs in a process of its own. Resolves when
 * the release outlives the machine losing power. Never rejects.
 */
export async function unpackRelease(request: UnpackRequest): Promise<UnpackReply> {
  try {
    await mkdir(request.directory, { mode: ONLY_USER })
    const root = await realpath(request.directory)
    const reply = await (request.kind === 'archive' ? unpackArchive(request, root) : copyDirectory(request, root))
    if ('problem' in reply) return reply
    const link = await escapingLink(root)
    if (link !== undefined) return { problem: `${JSON.stringify(link)} is a link that leaves the release, or leads nowhere` }
    await syncTree(root)
    return reply
  } catch (error) {
    return { problem: messageOf(error) }
  }
}
