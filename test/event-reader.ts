import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import type { TestContext } from 'node:test'
import { PROCESS_WAIT_MS, type Server, waitFor } from '@svc/testkit'
import { bearer } from '../packages/auth/test/admin-users.ts'

/** A client of an endpoint that sends events, on a connection of its own. */
export class EventReader {
  text = ''
  isEnded = false

  static async open(t: TestContext, server: Server, path: string, username: Parameters<typeof bearer>[0]): Promise<EventReader> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const asked = request(`${server.url}${path}`, { headers: await bearer(username), agent: false }, resolve)
    asked.on('error', reject).end()
    t.after(() => asked.destroy())
    const response = await promise
    assert.equal(response.statusCode, 200)
    const reader = new EventReader()
    response.setEncoding('utf8').on('data', (text: string) => {
      reader.text += text
    })
    response
      .on('error', () => undefined)
      .on('close', () => {
        reader.isEnded = true
      })
    return reader
  }

  has(text: string): Promise<unknown> {
    return waitFor(`${text} in ${this.text}`, () => this.text.includes(text), PROCESS_WAIT_MS)
  }
}
