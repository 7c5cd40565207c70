import { stat } from 'node:fs/promises'
import { printableLine } from '@svc/core'
import { shellWord } from '../../command-line/installation.ts'
import type { Check, Verdict } from '../model/subject.ts'

const READABLE_BY_ALL = 0o004

/** Notices about certificates: another check has them. */
function isOfCertificate(notice: string, certificates: readonly { readonly cert: string }[]): boolean {
  return certificates.some(({ cert }) => notice.includes(cert))
}

/** Secrets that every user of the machine may read: with that of tokens such a user becomes an administrator. */
async function openSecrets(files: readonly string[]): Promise<Verdict[]> {
  const verdicts = files.map(async (file): Promise<Verdict[]> => {
    const mode = (await stat(file).catch(() => undefined))?.mode ?? 0
    if ((mode & READABLE_BY_ALL) === 0) return []
    const message = `${printableLine(file)} holds secrets, and every user of the machine may read it`
    return [{ status: 'warning', message, remedy: `chmod o-rwx ${shellWord(file)}` }]
  })
  return (await Promise.all(verdicts)).flat()
}

/** The configuration is valid. The same as `svc config check`. */
export const configurationCheck: Check = {
  name: 'configuration',
  run: async ({ loaded, unread, problems, command, options }) => {
    if (unread !== undefined) return [{ status: 'unknown', message: `${unread}: does a file system not answer?` }]
    const { formatProblem } = await import('@svc/config')
    if (loaded === undefined) {
      const remedy = `correct the file, then: ${command} config check${options}`
      return problems.map((problem): Verdict => ({ status: 'problem', message: formatProblem(problem), remedy }))
    }
    const notices = loaded.notices.filter((notice) => !isOfCertificate(notice, loaded.certificates))
    const count = loaded.sites.length
    const summary = `${loaded.files[0] ?? 'no file'}: valid, ${count} ${count === 1 ? 'site' : 'sites'}`
    return [
      { status: 'ok', message: summary },
      ...notices.map((message): Verdict => ({ status: 'warning', message })),
      ...(await openSecrets(loaded.secretFiles)),
    ]
  },
}
