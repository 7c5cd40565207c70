/** Style of the development error page. */
export const devErrorStyle = `
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
