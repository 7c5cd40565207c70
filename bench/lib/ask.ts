import { type Agent, type IncomingHttpHeaders, request } from 'node:http'

/** Options of a request. */
export interface Question {
  readonly agent: Agent
  readonly host?: string
  /** @default "GET" */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Answer {
  readonly text: string
  readonly headers: IncomingHttpHeaders
}

/** Sends a request over a connection of the agent. Rejects unless the status is 200. */
export function askWhole(url: string, { agent, host, method = 'GET', headers }: Question): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const asked = request(url, { method, agent, headers: { ...headers, ...(host === undefined ? {} : { host }) } }, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      if (response.statusCode === 200) resolve({ text, headers: response.headers })
      else reject(new Error(`${url}: status ${response.statusCode} ${text}`))
    })
    response.on('error', reject)
  })
  asked.on('error', reject)
  asked.end()
  return promise
}

/** Sends a request over a connection of the agent. Resolves with the body; rejects unless the status is 200. */
export async function ask(url: string, question: Question): Promise<string> {
  return (await askWhole(url, question)).text
}
