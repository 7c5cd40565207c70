/** Exit codes of every process of the product, those below 128 from sysexits.h. */
export const ExitCode = {
  /** Done. */
  ok: 0,
  /** The command line is wrong: read `--help`. */
  usage: 64,
  /** The running server cannot be reached, or a port is in use: a supervisor should not retry at once. */
  unavailable: 69,
  /** A fault of this program: restart it and report it. */
  internal: 70,
  /** A passing trouble: restart later. */
  temporary: 75,
  /** The configuration is wrong: restarting does not help. */
  config: 78,
  /** The user pressed Ctrl-C at a prompt. As shells report it: 128 and the number of SIGINT. */
  interrupted: 130,
} as const
