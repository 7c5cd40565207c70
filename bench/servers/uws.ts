// Bare uWebSockets.js: the fastest that the engine can send these bytes.

import uws from 'uWebSockets.js'
import { readFileSync } from 'node:fs'

const [file = '', contentType = ''] = process.argv.slice(2)
const body = readFileSync(file)

const app = uws.App().get('/*', (res) => {
  res.writeHeader('Content-Type', contentType)
  res.end(body)
})
app.listen('127.0.0.1', 0, (token) => {
  if (token === false) process.exit(69)
  console.log(`http://127.0.0.1:${uws.us_socket_local_port(token)}`)
})
