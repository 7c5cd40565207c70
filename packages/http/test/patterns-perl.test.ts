import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { translatePattern } from '../src/patterns/translate-pattern.ts'

const PATTERNS = 600

/** Numbers that look random and are the same in every run. */
class Chance {
  #state = 20

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * limit)
  }

  pick(...items: readonly string[]): string {
    return items[this.below(items.length)] ?? ''
  }

  atom(depth: number): string {
    switch (this.below(depth > 0 ? 12 : 6)) {
      case 0:
        return this.pick('.', '\\d', '\\w', '\\s', '\\h', '\\S', '\\W', '\\D')
      case 1:
        return this.pick('[ab]', '[^/]', '[a-c1-2]', '[[:alpha:]]', '[^[:digit:]]', '[]a]', '[^]a]', '[\\w-]', '[\\s/]')
      case 2:
        return this.pick('^', '$', '\\b', '\\B', '\\A', '\\z', '\\Z')
      case 6:
        return `(${this.choice(depth - 1)})`
      case 7:
        return `(?:${this.choice(depth - 1)})`
      case 8:
        return `${this.pick('(?=', '(?!')}${this.choice(depth - 1)})`
      case 9:
        return this.pick('(?<=a)', '(?<!a)', '(?<=/)')
      case 10:
        return `(?i:${this.choice(depth - 1)})`
      default:
        return this.pick('a', 'b', '/', 'x', 'A', '\\.', '-', '_', '1', ' ', '\\n', '\\x41', '\\t')
    }
  }

  piece(depth: number): string {
    const atom = this.atom(depth)
    const isAssertion = /^(?:\^|\$|\\[bBAzZ]|\(\?(?:[=!]|<[=!]))/.test(atom)
    return isAssertion || this.below(2) === 0
      ? atom
      : `${atom}${this.pick('*', '+', '?', '*?', '+?', '??', '{2}', '{1,3}', '{2,}')}`
  }

  choice(depth: number): string {
    const sequence = () => Array.from({ length: 1 + this.below(4) }, () => this.piece(depth)).join('')
    return this.below(4) === 0 ? `${sequence()}|${sequence()}` : sequence()
  }

  subject(): string {
    const chars = ['a', 'b', '/', 'x', 'A', 'B', '.', '-', '_', '1', '\n', ' ', '\t', '\u00e9']
    return Array.from({ length: this.below(9) }, () => this.pick(...chars)).join('')
  }
}

const hex = (text: string) => Buffer.from(text, 'latin1').toString('hex')

/** For each pattern one line: for each text y or n, and without braces the captures. */
const program = `no warnings; my (@p, @s, $m);
while (<STDIN>) { chomp; if ($_ eq '--') { $m = 1 } elsif ($m) { push @s, pack('H*', substr($_, 1)) } else { push @p, [split / /] } }
for my $x (@p) { my $text = pack('H*', $x->[1]); my $r = $x->[0] ? qr/$text/ai : qr/$text/a; my @o;
  for my $s (@s) { if ($s =~ $r) { push @o, 'y' . join(':', map { defined $-[$_] ? unpack('H*', substr($s, $-[$_], $+[$_] - $-[$_])) : '' } 1..$#+) } else { push @o, 'n' } }
  print join(',', @o), "\\n" }`

test('random patterns match what Perl matches', (t) => {
  if (spawnSync('perl', ['-e', '1']).status !== 0) return t.skip('needs perl')
  const chance = new Chance()
  const patterns: { readonly text: string; readonly isCaseless: boolean; readonly regex: RegExp }[] = []
  while (patterns.length < PATTERNS) {
    const text = `${chance.pick('', '^')}${chance.choice(3)}${chance.pick('', '$')}`
    const isCaseless = chance.below(4) === 0
    const result = translatePattern(text, isCaseless)
    if ('pattern' in result) patterns.push({ text, isCaseless, regex: new RegExp(result.pattern.source) })
  }
  const subjects = [...Array.from({ length: 40 }, () => chance.subject()), '', '\n', 'a\n', '/a\n']
  const dir = tempDir(t, 'perl')
  writeFiles(dir, { 'match.pl': program })
  const asked = [
    ...patterns.map((one) => `${one.isCaseless ? 1 : 0} ${hex(one.text)}`),
    '--',
    ...subjects.map((text) => `x${hex(text)}`),
  ]
  const run = spawnSync('perl', [join(dir, 'match.pl')], { input: `${asked.join('\n')}\n`, encoding: 'latin1', timeout: 120_000 })
  assert.equal(run.status, 0, run.stderr)
  const answers = run.stdout.split('\n')
  for (const [index, { text, regex }] of patterns.entries()) {
    const expected = answers[index]?.split(',') ?? []
    // JavaScript forgets a capture at the next round of the repetition that it is in.
    const isRepeated = /\)[*+?{]/.test(text)
    for (const [at, subject] of subjects.entries()) {
      const match = regex.exec(subject)
      const found =
        match === null
          ? 'n'
          : `y${match
              .slice(1)
              .map((capture) => hex(capture ?? ''))
              .join(':')}`
      const wanted = expected[at] ?? ''
      const where = `${text} on ${JSON.stringify(subject)}: ${regex.source}`
      if (isRepeated || match === null) assert.equal(found[0], wanted[0], where)
      else if (match.length > 1) assert.equal(found, wanted, where)
      else assert.equal(wanted[0], 'y', where)
    }
  }
})
