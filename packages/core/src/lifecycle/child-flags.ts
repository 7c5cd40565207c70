const NO_DEBUGGER = '--disable-sigusr1'

/**
 * Options of Node for every process that the server starts. A signal to all processes of a service, as for the rotation of logs, may
 * come before a program listens for it: SIGUSR1 would open the port of the debugger then, to every user of the machine. The master
 * must not have the option, since Node blocks the signal with it.
 */
export const CHILD_FLAGS: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  // Other versions of Node than the bundled one may not have it.
  ...(process.allowedNodeEnvironmentFlags.has(NO_DEBUGGER) ? [NO_DEBUGGER] : []),
]
