import { SupervisorError } from '@svc/processes'

const WITHOUT_PRIVILEGE =
  'Let systemd start the server: the unit that "svc systemd" prints gives it the privilege. Or choose a port from 1024 on.'

/** Returns advice on a refused start. Undefined if the message is enough. */
export function startAdvice(error: unknown): string | undefined {
  if (!(error instanceof SupervisorError)) return undefined
  return error.data?.['needsPrivilege'] === true ? WITHOUT_PRIVILEGE : error.advice
}
