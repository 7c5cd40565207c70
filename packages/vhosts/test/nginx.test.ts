import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { requireProgram, tempDir, writeFiles } from '@svc/testkit'
import { answersCases } from './cases/answers.ts'
import { fileOf, type VhostCase } from './cases/case.ts'
import { grammarCases } from './cases/grammar.ts'
import { guardsCases } from './cases/guards.ts'
import { servingCases } from './cases/serving.ts'
import { upstreamsCases } from './cases/upstreams.ts'

const TEMP_PATHS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path temp;`).join(' ')

/** Returns true if a case depends on files that nginx opens during a configuration test. */
function isAboutTheMachine([, text]: VhostCase): boolean {
  return /listen (?!unix|;)/.test(text)
}

test('svc accepts the files that nginx accepts, apart from known differences', (t) => {
  const nginx = requireProgram(t, 'nginx')
  if (nginx === undefined) return
  const dir = tempDir(t, 'vhost-nginx')
  const cases = [...grammarCases, ...guardsCases, ...servingCases, ...answersCases, ...upstreamsCases]
  for (const item of cases) {
    const [level, text, problems = [], verdict] = item
    if (verdict === 'ours' || isAboutTheMachine(item)) continue
    writeFiles(dir, {
      'a.conf': fileOf(item, dir).text,
      'nginx.conf': `pid pid; error_log stderr crit; events {} http { access_log off; ${TEMP_PATHS} include a.conf; }`,
    })
    const args = ['-t', '-q', '-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')]
    const run: { readonly status: number | null; readonly stderr: string } = spawnSync(nginx, args, {
      encoding: 'utf8',
      timeout: 60_000,
    })
    const isSame: boolean = (run.status === 0) === (problems.length === 0)
    assert.equal(isSame, verdict !== 'differs', `${level}: ${text}\nnginx: ${run.status} ${run.stderr}`)
  }
})
