import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { Child, repositoryRoot } from '@svc/testkit'
import { SupervisorError } from '../../processes/src/errors/errors.ts'
import { ReservedPorts } from '../src/listen/reserved-ports.ts'
import { resolveListen } from '../src/listen/resolve-listen.ts'
import { startAdvice } from '../src/master/run-master.ts'

function failureOf(name: string): Promise<unknown> {
  return resolveListen([{ name, isTls: false, engine: 'uws' }], [], new ReservedPorts()).then(
    () => assert.fail(`${name} can be listened on`),
    (error: unknown) => error,
  )
}

test('the advice for a taken port names every place that sets ports', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const error = await failureOf(`127.0.0.1:${(server.address() as AddressInfo).port}`)
  assert.match(startAdvice(error) ?? '', /server\.listen or listen in the vhost file, or stop what has this one/)
})

test('the advice for a privileged port says how a server gets the privilege', async (t) => {
  const program = `
    import { resolveListen } from '${repositoryRoot}/packages/supervisor/src/listen/resolve-listen.ts'
    import { startAdvice } from '${repositoryRoot}/packages/supervisor/src/master/run-master.ts'
    await resolveListen([{ name: '127.0.0.1:79', isTls: false, engine: 'uws' }], [], undefined).catch((error) => console.log(error.message + '; ' + startAdvice(error)))`
  const node = [`${repositoryRoot}/bin/node`, '--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program]
  const drop = process.geteuid?.() === 0 ? ['--bounding-set=-net_bind_service', '--inh-caps=-net_bind_service'] : []
  const child = new Child(t, 'setpriv', [...drop, ...node])
  const { code } = await child.exited
  if (/ENOENT|^setpriv:/.test(child.stderr)) return t.skip(`needs setpriv of the Debian package util-linux: ${child.stderr}`)
  assert.equal(code, 0, child.stderr)
  if (child.stdout === '') return t.skip('here everybody may listen on any port')
  assert.match(child.stdout, /cannot listen on 127\.0\.0\.1:79: the port needs a privilege/)
  assert.match(child.stdout, /"svc systemd" prints gives it the privilege/)
})

test('other errors have no advice', () => {
  assert.equal(startAdvice(new Error('other')), undefined)
  assert.equal(startAdvice(new SupervisorError('SUP_STOPPED', 'stopped')), undefined)
})
