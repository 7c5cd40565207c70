import type { EndpointAnswer } from './endpoint.ts'

/** Text that is HTML already. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function markup(value: unknown): string {
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(markup).join('')
  return String(value ?? '').replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}

/** Template tag: values become text, so that nothing in them counts as markup; lists and other `Html` are put in as they are. */
export function html(parts: TemplateStringsArray, ...values: readonly unknown[]): Html {
  return new Html(parts.map((part, index) => (index === 0 ? part : markup(values[index - 1]) + part)).join(''))
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** Fields of all pages of the panel. */
const pageHeaders = [
  ['content-security-policy', policy],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
] as const

/** A page of the panel, with the script at this path. */
export function pageAnswer(title: string, body: Html, script = '/__svc/admin/assets/panel.js'): EndpointAnswer {
  const text = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - svc</title>
<link rel="stylesheet" href="/__svc/admin/assets/panel.css">
<script src="${script}" defer></script>
</head>
<body>
${body}
</body>
</html>
`
  return { status: 200, contentType: 'text/html; charset=utf-8', body: text.text, headers: pageHeaders }
}
