// Bare uWebSockets.js that answers every request with the bytes of one answer of another server: the same fields, which it
// writes in one call, and the same body.
//
//   uws-same.ts <status> <file with the fields, one per line> <file with the body, or "-">
import uws from 'uWebSockets.js'
import { readFileSync } from 'node:fs'

const [status = '200 OK', fieldsFile = '', bodyFile = '-'] = process.argv.slice(2)
const body = bodyFile === '-' ? undefined : readFileSync(bodyFile)
const fields = readFileSync(fieldsFile, 'latin1').trim()
const colon = fields.indexOf(': ')
const name = fields.slice(0, colon)
const rest = fields.slice(colon + 2).replaceAll('\n', '\r\n')

uws._cfg('silent')
const app = uws.App().any('/*', (res) => {
  if (status !== '200 OK') res.writeStatus(status)
  res.writeHeader(name, rest)
  if (body === undefined) res.endWithoutBody()
  else res.end(body)
})
app.listen('127.0.0.1', 0, (token) => {
  if (token === false) process.exit(69)
  console.log(`http://127.0.0.1:${uws.us_socket_local_port(token)}`)
})
