import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { repositoryRoot, workDir } from './svc.ts'

/** The request that fetches a server's response. */
export interface Sample {
  readonly url: string
  readonly host: string
  readonly headers?: readonly string[]
}

interface Answer {
  readonly status: string
  readonly fields: string
  readonly body: Buffer
}

/** Fields that every engine writes by itself. */
const ENGINE_FIELDS = new Set(['date', 'content-length', 'connection', 'keep-alive', 'transfer-encoding'])

function ask({ url, host, headers = [] }: Sample): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const fields = headers.map((field) => field.split(': ', 2) as [string, string])
  const asked = request(url, { headers: { connection: 'keep-alive', host, ...Object.fromEntries(fields) } })
  asked.on('error', reject)
  asked.on('response', (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const lines: string[] = []
      for (let i = 0; i < response.rawHeaders.length; i += 2) {
        const name = response.rawHeaders[i] ?? ''
        if (!ENGINE_FIELDS.has(name.toLowerCase())) lines.push(`${name}: ${response.rawHeaders[i + 1]}`)
      }
      const status = `${response.statusCode} ${response.statusMessage}`
      resolve({ status, fields: lines.join('\n'), body: Buffer.concat(chunks) })
    })
  })
  asked.end()
  return promise
}

function etagIn(fields: string): string {
  return /^etag: (.+)$/im.exec(fields)?.[1] ?? ''
}

/** Returns the entity tag of a server's response. */
export async function etagOf(sample: Sample): Promise<string> {
  return etagIn((await answerOf(sample)).fields)
}

/** Repeats the request until the server responds from L0. */
async function answerOf(sample: Sample): Promise<Answer> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const answer = await ask(sample)
    if (answer.fields.includes('svc-l0; hit')) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${sample.url} is not answered from L0`)
}

/** Starts bare uWebSockets.js sending the bytes that this server sends from L0 for a sample. */
export async function startSameBytes(name: string, sample: Sample): Promise<ServerProcess> {
  const { status, fields, body } = await answerOf(sample)
  const dir = join(workDir, 'same-bytes')
  mkdirSync(dir, { recursive: true })
  const fieldsFile = join(dir, `${name}.fields`)
  const bodyFile = join(dir, `${name}.body`)
  writeFileSync(fieldsFile, fields, 'latin1')
  writeFileSync(bodyFile, body)
  const script = join(repositoryRoot, 'bench/servers/uws-same.ts')
  return startPinned({
    command: join(repositoryRoot, 'bin/node'),
    args: ['--disable-warning=ExperimentalWarning', script, fieldsFile, bodyFile, status.startsWith('304') ? etagIn(fields) : ''],
    ready: (output) => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0],
  })
}
