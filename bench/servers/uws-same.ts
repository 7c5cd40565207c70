// Bare uWebSockets.js that responds to every request with the bytes of one response of another server: the same fields, which it
// writes in one call, and the same body. With a tag it responds with 304 to requests that name it, else with the full response.
//
//   uws-same.ts <file with the fields, one per line> <file with the body> [tag]
import uws, { type HttpRequest, type HttpResponse } from 'uWebSockets.js'
import { readFileSync } from 'node:fs'

const [fieldsFile = '', bodyFile = '', tag = ''] = process.argv.slice(2)
const body = readFileSync(bodyFile)
const fields = readFileSync(fieldsFile, 'latin1').trim()
const colon = fields.indexOf(': ')
const name = fields.slice(0, colon)
const rest = fields.slice(colon + 2).replaceAll('\n', '\r\n')

function sendWhole(res: HttpResponse): void {
  res.writeHeader(name, rest)
  res.end(body)
}

function sendIfChanged(res: HttpResponse, req: HttpRequest): void {
  if (req.getHeader('if-none-match') !== tag) {
    sendWhole(res)
    return
  }
  res.writeStatus('304 Not Modified')
  res.writeHeader(name, rest)
  res.endWithoutBody()
}

uws._cfg('silent')
const app = uws.App().any('/*', tag === '' ? sendWhole : sendIfChanged)
app.listen('127.0.0.1', 0, (token) => {
  if (token === false) process.exit(69)
  console.log(`http://127.0.0.1:${uws.us_socket_local_port(token)}`)
})
