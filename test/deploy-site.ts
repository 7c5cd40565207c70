import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, fetchHttp, type HttpAnswer, type Server, startServer, tempDir, tempSite, writeFiles } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'

type User = Parameters<typeof bearer>[0]

export interface Release {
  readonly id: string
  readonly source: string
  readonly state: string
  readonly live: boolean
  readonly sha256?: string
}

interface Answer extends HttpAnswer {
  readonly json: {
    readonly release?: Release
    readonly releases?: readonly Release[]
    readonly code?: string
    readonly detail?: string
    readonly errors?: readonly { readonly message: string }[]
    readonly file?: string
    readonly bytes?: number
    readonly sha256?: string
  }
}

/** Files of a site whose page says a text, with a page of a dynamic route that is known in advance. */
export function filesOf(text: string): Record<string, string> {
  return {
    'app/page.tsx': `import { text } from '../text'\nexport const revalidate = 3600\nexport default () => <p>{text}</p>`,
    'app/p/[id]/page.tsx': `export const generateStaticParams = () => [{ id: '1' }]\nexport default () => <p>${text}</p>`,
    'text.ts': `export const text = '${text}' as string`,
  }
}

/** A server with the site "shop", to which releases can be deployed. */
export class DeploySite {
  /** A directory of `deploy.sources`. */
  readonly sources: string
  readonly stateDir: string
  readonly root: string
  readonly config: string
  readonly #t: Cleanup
  #server: Server | undefined

  constructor(t: Cleanup, options: { readonly site?: string; readonly deploy?: string; readonly server?: string } = {}) {
    this.#t = t
    this.sources = tempDir(t)
    this.stateDir = tempDir(t)
    this.root = tempSite(t, filesOf('first'))
    mkdirSync(join(this.stateDir, 'incoming'), { recursive: true })
    this.config = `[server]
listen = "127.0.0.1:0"
workers = 2
${options.server ?? ''}
${adminToml}
[deploy]
sources = ["${this.sources}"]
${options.deploy ?? ''}
[[sites]]
id = "shop"
hostnames = ["shop.localhost"]
root = "${this.root}"
tenant = "acme"
${options.site ?? ''}
[[sites]]
id = "other"
hostnames = ["other.localhost"]
root = "${this.root}"
`
  }

  get server(): Server {
    if (this.#server === undefined) throw new Error('not started')
    return this.#server
  }

  async start(config = this.config): Promise<this> {
    this.#server = await startServer(this.#t, { config, env: { SVC_SERVER__STATE_DIR: this.stateDir } })
    return this
  }

  /** Writes a release into a directory of `deploy.sources`. */
  release(name: string, files: Readonly<Record<string, string>> = filesOf(name)): string {
    const dir = join(this.sources, name)
    writeFiles(dir, files)
    return dir
  }

  async call(method: string, path: string, body?: unknown, user: User = 'root'): Promise<Answer> {
    const answer = await fetchHttp(`${this.server.url}${path}`, {
      method,
      headers: { ...(await bearer(user)), 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { ...answer, json: JSON.parse(answer.text) }
  }

  deploy(source: string, user?: User, site = 'shop') {
    return this.call('POST', '/__svc/admin/api/deploys', { site, source }, user)
  }

  rollback(release?: string, user?: User) {
    return this.call('POST', '/__svc/admin/api/deploys/rollback', { site: 'shop', release }, user)
  }

  async releases(user?: User): Promise<readonly Release[]> {
    return (await this.call('GET', '/__svc/admin/api/deploys?site=shop', undefined, user)).json.releases ?? []
  }

  /** The text that the page has from every worker. */
  async text(path = '/', host = 'shop.localhost'): Promise<string> {
    const answers = await Promise.all(Array.from({ length: 8 }, () => fetchHttp(`${this.server.url}${path}`, { host })))
    return [...new Set(answers.map(({ status, text }) => /<p>(.*?)<\/p>/.exec(text)?.[1] ?? `${status}`))].join(', ')
  }
}
