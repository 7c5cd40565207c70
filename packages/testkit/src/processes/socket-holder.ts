import { Child, type ChildOptions } from './child.ts'
import type { Cleanup } from './temp-dir.ts'

/**
 * Opens listening sockets, prints their ports, and for each line of its input runs the command with the sockets from descriptor 3 on, as
 * systemd does. Node.js cannot: it accepts on the sockets that it opens.
 */
const PROGRAM = `
use strict; use Socket; use POSIX; use Fcntl; $| = 1;
my $count = shift; my (@held, @ports);
for (1 .. $count) {
  socket(my $s, AF_INET, SOCK_STREAM, 0) or die; setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1);
  bind($s, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die; listen($s, 1024) or die;
  push @held, $s; push @ports, (unpack_sockaddr_in(getsockname($s)))[0];
}
print "holder: ports @ports\\n";
my $pid = 0;
$SIG{TERM} = sub { if ($pid) { kill 'TERM', $pid; 1 until waitpid($pid, 0) == $pid } exit 0 };
while (<STDIN>) {
  $pid = fork();
  if ($pid == 0) {
    $SIG{TERM} = 'DEFAULT';
    my @high = map { fcntl($_, F_DUPFD, 40) } @held;
    POSIX::dup2($high[$_], 3 + $_) for 0 .. $#high;
    POSIX::close($_) for @high;
    exec('sh', '-c', 'LISTEN_PID=$$ LISTEN_FDS=' . $count . ' LISTEN_FDNAMES=svc exec "$@"', 'sh', @ARGV);
  }
  print "holder: started $pid\\n";
  1 until waitpid($pid, 0) == $pid;
  $pid = 0;
  print "holder: ended ", $? >> 8, " ", $? & 127, "\\n";
}
`

/** A stand-in for systemd: until SIGTERM, which also ends the command, it holds listening sockets on free ports of 127.0.0.1 and runs one command with them, again and again. */
export class SocketHolder {
  readonly child: Child
  readonly ports: readonly number[]
  #runs = 0

  private constructor(child: Child, ports: readonly number[]) {
    this.child = child
    this.ports = ports
  }

  static async open(t: Cleanup, count: number, command: readonly string[], options: ChildOptions = {}): Promise<SocketHolder> {
    const child = new Child(t, 'perl', ['-e', PROGRAM, String(count), ...command], {
      ...options,
      stdin: 'pipe',
      endSignal: 'SIGTERM',
    })
    const line = await child.waitForLine('ports', (text) => text.startsWith('holder: ports'))
    return new SocketHolder(child, line.split(' ').slice(2).map(Number))
  }

  /** Starts the command. The one before must have ended. @returns its pid */
  async start(): Promise<number> {
    const run = this.#runs++
    this.child.process.stdin?.write('go\n')
    await this.#event('started', run)
    return Number(this.#events('started')[run])
  }

  /** Waits until the last start has ended. @returns its exit code, or the number of the signal plus 128 */
  async ended(): Promise<number> {
    await this.#event('ended', this.#runs - 1)
    const [code = 0, signal = 0] = this.#events('ended')[this.#runs - 1]?.split(' ').map(Number) ?? []
    return signal === 0 ? code : 128 + signal
  }

  /** Waits for the ready line of the last start. */
  async ready(): Promise<void> {
    const pid = this.#events('started')[this.#runs - 1]
    const isReady = new RegExp(`^{"event":"ready","pid":${pid}\\b`)
    await this.child.waitForLine('ready line', (line) => isReady.test(line))
  }

  #events(kind: string): string[] {
    return Array.from(this.child.stdout.matchAll(new RegExp(`^holder: ${kind} (.*)\\n`, 'gm')), ([, rest = '']) => rest)
  }

  async #event(kind: string, run: number): Promise<void> {
    await this.child.waitForLine(`${kind} ${run}`, () => this.#events(kind).length > run)
  }
}
