import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Cleanup } from '@svc/testkit'

/** A service as the stand-in for systemd runs it. */
export interface FakeUnit {
  /** Value of ExecStart=. */
  readonly execStart: string
  /** Pid of the process; 0: none runs. */
  readonly mainPid: number
  readonly isActive: boolean
  /** Resolves with true when the service is ready, with false when it has ended before. */
  restart(): Promise<boolean>
}

/** Passes its arguments on, prints what comes back, and exits with the code of the first line. */
const CLIENT = `#!/usr/bin/perl
use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ENV{FAKE_SYSTEMD}) or die "no systemd: $!";
print $s join(' ', @ARGV), "\\n"; $s->flush; my $code = <$s>; print while <$s>; exit $code;
`

type Units = Readonly<Record<string, FakeUnit>>

async function answer(units: Units, words: readonly string[]): Promise<[code: number, text: string]> {
  const [command, ...rest] = words
  const named = units[(rest.at(-1) ?? '').replace(/\.service$/, '')]
  if (command === 'list-units') {
    const prefix = (rest.at(-1) ?? '').replace('*.service', '')
    const active = Object.keys(units).filter((name) => name.startsWith(prefix) && units[name]?.isActive === true)
    return [0, active.map((name) => `${name}.service loaded active running a site\n`).join('')]
  }
  if (command === 'is-enabled' || named === undefined) return [1, '']
  if (command === 'restart') return [(await named.restart()) ? 0 : 1, '']
  if (command === 'is-active') return [named.isActive ? 0 : 3, '']
  if (command !== 'show') return [0, '']
  const values: Readonly<Record<string, string>> = { ExecStart: named.execStart, MainPID: String(named.mainPid), User: '' }
  return [0, `${values[rest[1] ?? ''] ?? ''}\n`]
}

/** Makes a `systemctl` in `dir` that acts on these units. @returns the environment for programs that call it */
export async function fakeSystemd(t: Cleanup, dir: string, units: Units): Promise<NodeJS.ProcessEnv> {
  const bin = join(dir, 'bin')
  const socket = join(dir, 'systemd.sock')
  mkdirSync(bin)
  writeFileSync(join(bin, 'systemctl'), CLIENT, { mode: 0o755 })
  writeFileSync(join(bin, 'journalctl'), '#!/bin/sh\necho a line of the journal\n', { mode: 0o755 })
  const server = createServer((client) => {
    client.on('error', () => undefined)
    client.once('data', (data) => {
      const words = data.toString().trim().split(' ')
      const reply = ([code, text]: [number, string]) => client.end(`${code}\n${text}`)
      answer(units, words).then(reply, (error) => reply([1, `${error}\n`]))
    })
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  t.after(() => server.close())
  return { ...process.env, PATH: `${bin}:${process.env['PATH']}`, FAKE_SYSTEMD: socket }
}
