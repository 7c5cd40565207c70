// Bare uWebSockets.js with the handler of `engine.ts` and nothing else of the engine.
import uws from 'uWebSockets.js'

const body = Buffer.alloc(Number(process.argv[2] ?? 1024), 'x')
uws._cfg('silent')
const app = uws.App().any('/*', (res) => {
  res.writeHeader('Content-Type', 'text/plain')
  res.end(body)
})
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) process.exit(69)
  console.log(`http://127.0.0.1:${uws.us_socket_local_port(socket)}`)
})
