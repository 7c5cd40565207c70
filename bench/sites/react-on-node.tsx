// A page of the rows site rendered by React alone: node:http and react-dom's stream for Node, without a framework.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { renderToPipeableStream } from 'react-dom/server'
import RootLayout from './rows/app/layout.tsx'
import Page from './rows/app/page.tsx'

const server = createServer((_request, response) => {
  const { pipe } = renderToPipeableStream(
    <RootLayout>
      <Page />
    </RootLayout>,
    {
      onAllReady() {
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        pipe(response)
      },
      onError(error) {
        console.error(error)
        response.destroy()
      },
    },
  )
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
