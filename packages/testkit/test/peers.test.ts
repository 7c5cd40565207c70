import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { Child, requireProgram, startNginx, startPhpFpm, startRedis, tempDir } from '../src/index.ts'

function exchange(path: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path }, () => socket.write(text))
    socket.once('data', (data) => {
      resolve(data.toString('latin1'))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

test('redis-server answers on its socket', async (t) => {
  const program = requireProgram(t, 'redis-server')
  if (program === undefined) return
  const redis = await startRedis(t, program)
  assert.equal(await exchange(redis.socket, 'PING\r\n'), '+PONG\r\n')
})

test('nginx answers with the directives of the test', async (t) => {
  const program = requireProgram(t, 'nginx')
  if (program === undefined) return
  const nginx = await startNginx(t, program, 'location = /hello { return 418; }')
  const status = await new Promise((resolve, reject) => {
    request({ socketPath: nginx.socket, path: '/hello' }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
  assert.equal(status, 418)
})

test('php-fpm speaks FastCGI on its socket', async (t) => {
  const program = requireProgram(t, 'php-fpm')
  if (program === undefined) return
  const php = await startPhpFpm(t, program)
  // FCGI_GET_VALUES for FCGI_MAX_CONNS (FastCGI specification, section 4.1): a management record, no script needed.
  const name = 'FCGI_MAX_CONNS'
  const body = String.fromCharCode(name.length, 0) + name
  const answer = await exchange(php.socket, `${String.fromCharCode(1, 9, 0, 0, 0, body.length, 0, 0)}${body}`)
  assert.equal(answer.charCodeAt(1), 10, 'FCGI_GET_VALUES_RESULT')
})

test('a child that ends without the line that is waited for says what it printed', async (t) => {
  const child = new Child(t, process.execPath, ['-e', 'console.log("something else")'], { cwd: tempDir(t) })
  await assert.rejects(
    child.waitForLine('a ready line', (line) => line === 'ready'),
    /ended without a ready line[\s\S]*something else/,
  )
})
