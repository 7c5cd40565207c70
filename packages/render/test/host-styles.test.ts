import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tempSite } from '@svc/testkit'
import { HostProcess } from './host-process.ts'

test('a class has the same name where it is composed as in its own sheet', async (t) => {
  const root = tempSite(t, {
    'app/layout.tsx': 'export default ({ children }: { children: unknown }) => <html><body>{children}</body></html>',
    'app/page.tsx': `import own from './own.module.css'\nimport base from './base.module.css'
export default () => <p className={own.a}>{base.b} {own.a.split(' ').includes(base.b) ? 'composed' : 'apart'}</p>`,
    'app/own.module.css': '.a { composes: b from "./base.module.css"; color: blue; --x: </style><script>alert(1)</script>; }',
    'app/base.module.css': '.b { color: red; }',
  })
  const host = await HostProcess.start(t, { sites: [{ id: 'a', root }] })
  const { text } = await host.render('a', '/')
  assert.match(text, /composed/)
  const style = /<style[^>]*>(.*?)<\/style>/s.exec(text)?.[1] ?? ''
  assert.match(style, /color:red.*color:(?:blue|#00f)/s)
  assert.equal(style.match(/color:red/g)?.length, 1)
  assert.ok(style.includes('<script>alert(1)</script>'), 'it stays text of the sheet')
})
