import { SupervisorError, type SupervisorErrorCode } from '../errors.ts'

const ADVICE: Readonly<Partial<Record<SupervisorErrorCode, string>>> = {
  SUP_NO_CERTIFICATE: 'Set ssl_certificate in the vhost file, tls.certs, or tls.auto.',
  SUP_ALREADY_RUNNING: '"svc status" shows it, "svc stop" ends it, "svc reload" gives it a changed configuration.',
  SUP_DIRECTORY_TAKEN:
    "Give this server one of its own: servers that shared it would serve each other's pages and miss each other's purges.",
  SUP_LISTEN:
    'Choose another address with --listen (port 0: any that is free), server.listen or listen in the vhost file, or stop what has this one.',
}

const WITHOUT_PRIVILEGE =
  'Let systemd start the server: the unit that "svc systemd" prints gives it the privilege. Or choose a port from 1024 on.'

/** What to do about a start that was refused. Undefined: the message says it all. */
export function startAdvice(error: unknown): string | undefined {
  if (!(error instanceof SupervisorError)) return undefined
  return error.data?.['needsPrivilege'] === true ? WITHOUT_PRIVILEGE : ADVICE[error.code]
}
