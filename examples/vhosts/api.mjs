// The API behind the example: plain Node.js, as any other server could stand here. PORT says where it listens.
import { createServer } from 'node:http'

const plants = [
  { name: 'tomato', bed: 1 },
  { name: 'bean', bed: 1 },
  { name: 'pumpkin', bed: 2 },
]

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://api')
  const bed = searchParams.get('bed')
  const found = pathname === '/plants' ? plants.filter((plant) => bed === null || plant.bed === Number(bed)) : undefined
  response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(found ?? { error: `there is no ${pathname}` }))
})

server.listen(Number(process.env.PORT ?? 8091), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
