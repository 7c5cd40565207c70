import type { Check, Verdict } from '../model/subject.ts'

/** Notices about certificates: another check has them. */
function isOfCertificate(notice: string, certificates: readonly { readonly cert: string }[]): boolean {
  return certificates.some(({ cert }) => notice.includes(cert))
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
    return [{ status: 'ok', message: summary }, ...notices.map((message): Verdict => ({ status: 'warning', message }))]
  },
}
