import { PRODUCT_VERSION, type StatusReport } from '@svc/protocol'
import type { Check, Subject, Verdict } from '../model/subject.ts'

function workerVerdict({ workers }: StatusReport): Verdict[] {
  const down = workers.filter(({ state }) => state !== 'ready')
  if (down.length === 0) return []
  const states = down.map(({ id, state }) => `${id} ${state}`).join(', ')
  return [
    {
      status: 'warning',
      message: `${down.length} of ${workers.length} workers are not ready: ${states}`,
      remedy: 'journalctl -u svc -n 100',
    },
  ]
}

function siteVerdicts({ sites }: StatusReport, { command, options }: Subject): Verdict[] {
  return sites
    .filter(({ state }) => state === 'degraded' || state === 'quarantined')
    .map(({ id, process, state }): Verdict => {
      if (process === 'own' && state === 'degraded') {
        const remedy = `systemctl start svc-${id}.service, or without systemd: ${command} serve --site ${id}${options}`
        return { status: 'problem', message: `no process serves the site ${id}, which has process = "own"`, remedy }
      }
      return {
        status: 'warning',
        message: `the site ${id} is ${state}`,
        remedy: `${command} routes ${id}${options}; journalctl -u svc -n 100`,
      }
    })
}

function runningVerdicts(status: StatusReport, subject: Subject): Verdict[] {
  const { command, options } = subject
  const found = [...workerVerdict(status), ...siteVerdicts(status, subject)]
  if (status.last_reload?.ok === false) {
    const [first = 'no reason given', ...others] = status.last_reload.errors
    const more = others.length > 0 ? ` and ${others.length} more` : ''
    const message = `the last reload failed, the old configuration is served: ${first}${more}`
    found.push({ status: 'problem', message, remedy: `${command} config check${options} && ${command} reload${options}` })
  }
  if (status.version !== PRODUCT_VERSION) {
    const message = `runs version ${status.version}, and this command is ${PRODUCT_VERSION}`
    found.push({ status: 'warning', message, remedy: 'systemctl restart svc.service' })
  }
  if (found.length > 0) return found
  return [{ status: 'ok', message: `pid ${status.pid}, generation ${status.generation}, ${status.listen.join(' ')}` }]
}

/** The running server answers, serves all sites, and has the current configuration and version. */
export const serverCheck: Check = {
  name: 'server',
  run: async (subject) => {
    const { server, command, options } = subject
    switch (server.kind) {
      case 'running':
        return runningVerdicts(server.status, subject)
      case 'absent':
        return [{ status: 'unknown', message: server.message }]
      case 'forbidden':
        return [{ status: 'unknown', message: server.message, remedy: `sudo ${command} doctor${options}` }]
      case 'silent':
        return [
          { status: 'problem', message: server.message, remedy: 'journalctl -u svc -n 100, then: systemctl restart svc.service' },
        ]
    }
  },
}
