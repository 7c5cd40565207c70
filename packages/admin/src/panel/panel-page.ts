import type { Caller } from '@svc/auth'
import * as z from 'zod/mini'
import { type EndpointAnswer, once } from '../contract/endpoint.ts'
import { showUser } from '../endpoints/session-answer.ts'
import { PanelFiles } from './panel-files.ts'

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Nothing inline, nothing from outside, and no text that becomes markup. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const pageHeaders = [
  ['content-security-policy', policy],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
  // For pages of other hosts of the same domain: they get no handle on a window of the panel, and nothing of it to embed.
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
] as const

/** The files of the panel, read at the first use. */
export const panelFiles = once(() => new PanelFiles())

/** The query of a page is its own: filters, ranges, open entries. */
export const pageQuery = () => z.looseObject({})

function attribute(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}

/** The scripts of a page; undefined: the panel has no such page. */
export function scriptsOf(path: string): readonly string[] | undefined {
  const { pages } = panelFiles().manifest
  return Object.hasOwn(pages, path) ? pages[path] : undefined
}

/**
 * Every page of the panel: its script draws the rest, for the user that the page names.
 * @param scripts those that the page needs at once, or the next page will
 */
export function panelPage(caller: Caller, scripts: readonly string[] = []): EndpointAnswer {
  const { script, style, icon, preload } = panelFiles().manifest
  const at = (name: string) => `/__svc/admin/assets/${name}`
  const user = caller.kind === 'user' ? JSON.stringify(showUser(caller.user)) : ''
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>svc</title>
<link rel="icon" href="${at(icon)}">
<link rel="stylesheet" href="${at(style)}">
${[...preload, ...scripts].map((name) => `<link rel="modulepreload" href="${at(name)}">\n`).join('')}<script type="module" src="${at(script)}"></script>
</head>
<body data-user="${attribute(user)}">
<div id="app"><noscript><p>This page needs JavaScript. <code>svc config credentials token</code> makes a token for the API.</p></noscript></div>
</body>
</html>
`
  return { status: 200, contentType: 'text/html; charset=utf-8', body, headers: pageHeaders }
}
