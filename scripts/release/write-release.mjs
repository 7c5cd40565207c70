import { chmod, copyFile, link, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runtimeFiles } from './runtime-files.mjs'

/**
 * Writes the files of a release into a directory. Others may read them and only the owner may write them, whatever the
 * checkout's modes are; with hard links the modes stay as they are.
 * @param isLinked true: hard links. Files of another file system are copied.
 * @returns the number of files
 */
export async function writeRelease(root, dir, isLinked) {
  const files = runtimeFiles(root)
  const directories = new Set(files.map(({ target }) => dirname(join(dir, target))))
  for (const one of directories) await mkdir(one, { recursive: true, mode: 0o755 })
  for (const { source, target } of files) {
    const [from, to] = [join(root, source), join(dir, target)]
    if (!isLinked || !(await hasLinked(from, to))) await copy(from, to)
  }
  return files.length
}

/** @returns false if the two are on different file systems */
async function hasLinked(from, to) {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (error.code === 'EXDEV') return false
    throw error
  }
}

async function copy(from, to) {
  await copyFile(from, to)
  const isProgram = ((await stat(from)).mode & 0o100) !== 0
  await chmod(to, isProgram ? 0o755 : 0o644)
}
