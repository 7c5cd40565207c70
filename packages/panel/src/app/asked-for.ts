import { navigate } from '../address/router.ts'
import type { SiteFacts } from '../data/answers.ts'
import type { Command } from './commands.ts'

const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f-]{18,40}$/i
const TAG = /^(?:purge )?tag (\S.*)$/i

/** The stored responses behind a URL, or a path of any site. Undefined: the text is neither. */
function entriesPage(text: string, sites: readonly SiteFacts[]): string | undefined {
  if (text.startsWith('/')) return `/__svc/admin/caches?${new URLSearchParams({ prefix: text.replace(/[?#].*$/, '') })}`
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  const site = sites.find(({ hostnames }) => hostnames.includes(url.hostname))
  const query = new URLSearchParams({ ...(site === undefined ? {} : { site: site.id }), prefix: url.pathname })
  return `/__svc/admin/caches?${query}`
}

/** Commands that a text asks for by what it is. */
export function commandsFor(text: string, sites: readonly SiteFacts[], purge?: (tag: string) => void): Command[] {
  const entries = entriesPage(text, sites)
  const tag = TAG.exec(text)?.[1]
  return [
    ...(entries === undefined ? [] : [{ kind: 'Caches', label: `Stored responses of ${text}`, run: () => navigate(entries) }]),
    ...(tag === undefined || purge === undefined
      ? []
      : [{ kind: 'Action', label: `Purge the tag ${tag}`, run: () => purge(tag) }]),
    ...(tag === undefined
      ? []
      : [
          {
            kind: 'Caches',
            label: `Pages with the tag ${tag}`,
            run: () => navigate(`/__svc/admin/caches?${new URLSearchParams({ tag })}`),
          },
        ]),
    ...(REQUEST_ID.test(text)
      ? [
          {
            kind: 'Flows',
            label: `Request ${text}`,
            run: () => navigate(`/__svc/admin/flows?${new URLSearchParams({ request: text })}`),
          },
        ]
      : []),
  ]
}
