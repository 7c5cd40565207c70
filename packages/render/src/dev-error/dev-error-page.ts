import { frameToShow, isOwn, type StackFrame, stackFrames } from './stack-frames.ts'

/** Content of the page. Everything is shown as text, whatever it contains. */
export interface DevErrorInput {
  readonly error: {
    readonly name: string
    readonly message: string
    /** With positions already mapped to sources. */
    readonly stack: string
    readonly digest?: string
    /** File whose run failed, where known. */
    readonly where?: string
  }
  /** Absolute path of the site: paths below it are shown relative. */
  readonly root: string
  /** Text of the file of `shownFrame`, where it may be shown. */
  readonly source?: string
  /** An excerpt that is already drawn; shown in place of one of `source`. */
  readonly frame?: string
  readonly request: { readonly method: string; readonly url: string; readonly requestId: string; readonly route?: string }
}

/** The frame whose source the page shows; undefined: the stack has none. */
export function shownFrame({ error, root }: Pick<DevErrorInput, 'error' | 'root'>): StackFrame | undefined {
  return frameToShow(stackFrames(error.stack), root)
}

/**
 * Renders the page that development mode shows for an error: message, excerpt of the source, stack, facts of the request.
 * Complete HTML without any script; light and dark. Never to be sent in production.
 */
export function devErrorPage(input: DevErrorInput): string {
  const { error, root } = input
  const frames = stackFrames(error.stack)
  const shown = shownFrame(input)
  const title = `${error.name}: ${error.message}`
  return (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n' +
    `<meta name="robots" content="noindex">\n<title>${escapeText(title.slice(0, 200))}</title>\n<style>${devErrorStyle}</style>\n</head>\n<body>\n<main>\n` +
    `<p class="kind">${escapeText(error.name)}</p>\n<h1>${escapeText(error.message === '' ? '(no message)' : error.message)}</h1>\n` +
    (shown === undefined ? whereText(error.where, root) : excerpt(shown, input)) +
    stackText(frames, error.stack, root) +
    facts(input) +
    '</main>\n</body>\n</html>\n'
  )
}

/** One line of an excerpt. */
interface CodeLine {
  /** From 1. */
  readonly number: number
  readonly text: string
  readonly isMarked: boolean
}

const LINES_AROUND = 5
const MAX_LINE_CHARS = 400

/** The lines of a source around one of them, five on each side; [] when the source has no such line. Long lines are cut. */
export function codeFrame(source: string, line: number): readonly CodeLine[] {
  const lines = source.split(/\r\n|\n|\r/)
  if (line < 1 || line > lines.length) return []
  const first = Math.max(1, line - LINES_AROUND)
  const last = Math.min(lines.length, line + LINES_AROUND)
  return lines
    .slice(first - 1, last)
    .map((text, index) => ({ number: first + index, text: text.slice(0, MAX_LINE_CHARS), isMarked: first + index === line }))
}

function excerpt(shown: StackFrame, { source, frame, root }: DevErrorInput): string {
  const place = `${relative(shown.file, root)}:${shown.line}:${shown.column}`
  const lines = source === undefined ? [] : codeFrame(source, shown.line)
  const body = frame === undefined ? lines.map((line) => codeLine(line, shown.column)).join('') : drawnLines(frame)
  const code = body === '' ? '' : `<pre tabindex="0" aria-label="Source"><code>${body}</code></pre>\n`
  return `<section>\n<h2>${escapeText(place)}</h2>\n${code}</section>\n`
}

function drawnLines(frame: string): string {
  return frame
    .split('\n')
    .map((line) => `<span class="line">${escapeText(line)}\n</span>`)
    .join('')
}

function codeLine({ number, text, isMarked }: CodeLine, column: number): string {
  const row = `<span class="number">${String(number).padStart(5)}</span> ${escapeText(text)}`
  if (!isMarked) return `<span class="line">${row}\n</span>`
  // Tabs are kept, so that the mark stands below its character whatever their width.
  const indent = text.slice(0, column - 1).replace(/[^\t]/g, ' ')
  return `<mark class="line">${row}\n</mark><span class="line caret" aria-hidden="true">      ${indent}^\n</span>`
}

function whereText(where: string | undefined, root: string): string {
  return where === undefined ? '' : `<section>\n<h2>${escapeText(relative(where, root))}</h2>\n</section>\n`
}

function stackText(frames: readonly StackFrame[], stack: string, root: string): string {
  if (frames.length === 0)
    return stack === '' ? '' : `<section>\n<h2>Stack</h2>\n<pre tabindex="0">${escapeText(stack)}</pre>\n</section>\n`
  const items = frames.map((frame) => {
    const kind = isOwn(frame, root) ? 'own' : 'foreign'
    const name = frame.name === '' ? '(top level)' : frame.name
    const place = `${relative(frame.file, root)}:${frame.line}:${frame.column}`
    return `<li class="${kind}"><code>${escapeText(name)}</code> <span>${escapeText(place)}</span></li>\n`
  })
  return `<section>\n<h2>Stack</h2>\n<ol>\n${items.join('')}</ol>\n</section>\n`
}

function facts({ request, error }: DevErrorInput): string {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Request', `${request.method} ${request.url}`],
    ['Route', request.route],
    ['Request id', request.requestId],
    ['Digest', error.digest],
  ]
  const items = rows.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`<dt>${name}</dt><dd>${escapeText(value)}</dd>\n`],
  )
  return `<section>\n<h2>Request</h2>\n<dl>\n${items.join('')}</dl>\n</section>\n`
}

function relative(file: string, root: string): string {
  const prefix = root.endsWith('/') ? root : `${root}/`
  return file.startsWith(prefix) ? file.slice(prefix.length) : file
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
  '\0': '\ufffd',
}

function escapeText(text: string): string {
  return text.toWellFormed().replace(/[&<>"'\0]/g, (character) => escapes[character] ?? character)
}

/** Style of the development error page. */
const devErrorStyle = `
:root { color-scheme: light dark; --text: #1c1c1e; --soft: #5c5c66; --back: #fafafa; --card: #ffffff; --line: #dcdce2; --red: #b3261e; --mark: #fde7e5; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ececf1; --soft: #a3a3ad; --back: #131316; --card: #1c1c21; --line: #34343c; --red: #ff8a80; --mark: #43211f; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; }
.kind { margin: 0; color: var(--red); font-weight: 600; }
h1 { margin: 0 0 1.5rem; font-size: 1.4rem; line-height: 1.35; white-space: pre-wrap; overflow-wrap: anywhere; }
h2 { margin: 0; padding: .6rem 1rem; border-bottom: 1px solid var(--line); color: var(--soft); font-size: .85rem; font-weight: 600; overflow-wrap: anywhere; }
section { margin: 0 0 1.5rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); overflow: hidden; }
pre { margin: 0; padding: .75rem 0; overflow-x: auto; font: 13px/1.6 ui-monospace, monospace; tab-size: 2; }
section > pre:not(:has(code)) { padding: .75rem 1rem; }
.line { display: block; padding: 0 1rem; white-space: pre; }
mark.line { background: var(--mark); color: inherit; }
.number { color: var(--soft); user-select: none; }
.caret { color: var(--red); font-weight: 700; }
ol { margin: 0; padding: .75rem 1rem .75rem 2.75rem; font-size: .85rem; }
li span { color: var(--soft); overflow-wrap: anywhere; }
li.foreign { opacity: .7; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; padding: .75rem 1rem; font-size: .85rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
`
