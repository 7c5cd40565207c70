import { chmod, copyFile, link, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runtimeFiles } from './runtime-files.mjs'

/**
 * Writes the files of a release into a directory. Others may read them and nobody may write them but the owner, whatever the
 * checkout's modes are; with hard links the modes stay as they are.
 * @returns the number of files
 */
export async function writeRelease(root, dir, isLinked) {
  const files = runtimeFiles(root)
  const directories = new Set(files.map(({ target }) => dirname(join(dir, target))))
  for (const one of directories) await mkdir(one, { recursive: true, mode: 0o755 })
  for (const { source, target } of files) {
    const [from, to] = [join(root, source), join(dir, target)]
    if (isLinked) await link(from, to)
    else {
      await copyFile(from, to)
      const isProgram = ((await stat(from)).mode & 0o100) !== 0
      await chmod(to, isProgram ? 0o755 : 0o644)
    }
  }
  return files.length
}
