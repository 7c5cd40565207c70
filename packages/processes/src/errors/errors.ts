import { errorClass } from '@svc/core'
import { ExitCode } from '@svc/protocol'

/** An error of the `supervisor` package. */
export const SupervisorError = errorClass('SupervisorError', {
  /** Another master uses the same run directory. */
  SUP_ALREADY_RUNNING: {
    template: '{server} is already running with the run directory {runDir}',
    exitCode: ExitCode.unavailable,
    advice: '"svc status" shows it, "svc stop" ends it, "svc reload" gives it a changed configuration.',
  },
  /** Another master uses the same state or cache directory. */
  SUP_DIRECTORY_TAKEN: {
    template: 'another server uses {directory} ({key})',
    exitCode: ExitCode.unavailable,
    advice:
      "Give this server one of its own: servers that shared it would serve each other's pages and miss each other's purges.",
  },
  /** A listen address is taken, not ours to open, or not an address. */
  SUP_LISTEN: {
    exitCode: ExitCode.unavailable,
    advice:
      'Choose another address with --listen (port 0: any that is free), server.listen or listen in the vhost file, or stop what has this one.',
  },
  /** The sockets that systemd passed are not those of the listen addresses. */
  SUP_SOCKETS: {
    exitCode: ExitCode.config,
    advice:
      'Write the socket unit again (svc systemd --socket > /etc/systemd/system/svc.socket), systemctl daemon-reload, and restart svc.socket.',
  },
  /** A listen address speaks TLS, and there is no certificate for it. */
  SUP_NO_CERTIFICATE: {
    template: 'no certificate for {address}, which speaks TLS',
    exitCode: ExitCode.config,
    advice: 'Set ssl_certificate in the vhost file, tls.certs, or tls.auto.',
  },
  /** An authority issued no certificate. */
  SUP_CERTIFICATE: { retryable: true },
  /** An authority cannot be reached, or is not trusted. */
  SUP_AUTHORITY: { retryable: true },
  /** A log file of the configuration cannot be opened. */
  SUP_LOG_FILE: {
    template: 'cannot write the log file {path}: {why}',
    exitCode: ExitCode.config,
    advice: 'Create its directory for the user of the server, or choose another file: logging.access_file.',
  },
  /** A directory of the configuration cannot be made or used. */
  SUP_DIRECTORY: { exitCode: ExitCode.config },
  /** A program ended repeatedly before it was ready for the first time. */
  SUP_START_FAILED: { retryable: true },
  /** Files that verify the certificates of clients cannot be read. */
  SUP_BAD_AUTHORITIES: {
    template: 'cannot verify clients by {path}: {reason}',
    exitCode: ExitCode.config,
    advice: 'Check ssl_client_certificate, ssl_trusted_certificate and ssl_crl in the vhost files.',
  },
  /** A stop aborted the start. */
  SUP_STOPPED: {},
  /** A process did not become ready, or failed to build a generation. */
  SUP_NOT_READY: { retryable: true },
  /** The site is not in the configuration. */
  SUP_UNKNOWN_SITE: { status: 404, exposable: true },
  /** The task is not in the configuration. */
  SUP_UNKNOWN_TASK: { status: 404, exposable: true },
  /** There is no such plugin. */
  SUP_UNKNOWN_PLUGIN: { status: 404, exposable: true },
  /** A run of the task has not ended, and others may not begin. */
  SUP_TASK_RUNNING: { status: 409, exposable: true },
  /** The firewall has no such rule. */
  SUP_UNKNOWN_RULE: { status: 404, exposable: true, template: 'the firewall has no rule "{id}"' },
  /** The firewall has a rule of this id. */
  SUP_RULE_EXISTS: { status: 409, exposable: true, template: 'the firewall has a rule "{id}" already' },
  /** The rules of the firewall for the sites of a tenant have reached their limits. */
  SUP_RULE_LIMIT: { status: 409, exposable: true, template: 'rule "{id}" cannot be added for this tenant: {why}; remove others' },
  /** A configuration cannot be checked now: other checks are queued, or it took too long. */
  SUP_CONFIG_CHECK: { status: 503, retryable: true, exposable: true },
  /** The configuration has no such upstream group, or the group has no such server. */
  UNKNOWN_UPSTREAM: {
    status: 404,
    exposable: true,
    template: '{key}: no vhost file has such a server: see GET /__svc/admin/api/upstreams',
  },
  /** A value that was to be overridden could not be put into service: the one before holds. */
  SUP_OVERRIDE: { status: 422, exposable: true },
  /** There are too many silences of alerts. */
  SUP_SILENCE_LIMIT: {
    status: 409,
    exposable: true,
    template: 'there are {max} silences already: end others, or wait until they end',
  },
  /** A change cannot be saved in the state directory: the value before holds. */
  SUP_STATE: { status: 503, retryable: true, template: 'failed to save {file}: {why}' },
  /** The key is not overridden. */
  SUP_NO_OVERRIDE: { status: 404, exposable: true },
  /** A deployment of the site is in progress. */
  DEPLOY_RUNNING: { status: 409, retryable: true, exposable: true, template: 'a deployment of {site} is in progress' },
  /** The site renders in a unit of its own, or has no application. */
  DEPLOY_UNSUPPORTED: { status: 409, exposable: true },
  /** The release has errors, or could not be put into service: the one before serves. */
  DEPLOY_FAILED: { status: 422, exposable: true },
  /** The source lies outside of the directories that releases may come from. */
  SOURCE_NOT_ALLOWED: { status: 422, exposable: true, template: '{source} is not inside of {allowed}' },
  /** The source is missing, or neither a directory nor an archive. */
  SOURCE_INVALID: { status: 422, exposable: true },
  /** Too many uploads of the site, of the user or of all are in progress. */
  UPLOADS_BUSY: {
    status: 429,
    retryable: true,
    exposable: true,
    template: 'too many uploads {scope} are in progress: send this one when one of them has ended',
  },
  /** The site has no such release, or none before the live one. */
  UNKNOWN_RELEASE: { status: 404, exposable: true },
  /** A purge names an invalid path or host. */
  SUP_BAD_PURGE: { status: 400, exposable: true },
  /** The file of a site unit is missing, incomplete, or readable by others. */
  SUP_SITE_FILE: { exitCode: ExitCode.config },
  /** Another unit of the site runs. */
  SUP_UNIT_RUNNING: {
    template: 'another unit of the site "{site}" is already running with the run directory {runDir}',
    exitCode: ExitCode.unavailable,
  },
  /** A site unit failed to authenticate, or requested something outside of its site. */
  SUP_UNIT_REFUSED: {},
  /** The unit of a site is not connected to its server at the moment. */
  SUP_NO_SERVER: { retryable: true },
  /** Sessions and revoked tokens cannot be saved. */
  SUP_SESSIONS: { status: 503, retryable: true, template: 'failed to save {file}: {why}' },
  /** No heap snapshot could be taken. */
  SUP_SNAPSHOT: { status: 409, retryable: true, exposable: true },
  /** The entries are no longer served, but the store still holds them. */
  SUP_PURGE_FAILED: { status: 500, retryable: true },
})
export type SupervisorError = InstanceType<typeof SupervisorError>

/** The exit code for a start that failed. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof SupervisorError)) return ExitCode.internal
  const own = error.data?.['exitCode']
  return typeof own === 'number' ? own : (error.exitCode ?? ExitCode.internal)
}
