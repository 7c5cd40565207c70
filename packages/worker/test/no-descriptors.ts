// Looks for files below the directory of its argument when no descriptor is left, and prints what comes of it as JSON.
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { FileHandler, StaticFiles } from '../src/static/index.ts'
import { WebFiles } from '../src/vhost/web-files.ts'
import { RecordedExchange } from './recorded-exchange.ts'

const STDOUT = 1
const root = process.argv[2] ?? ''
const problems: string[] = []
const onProblem = (error: Error) => problems.push(error.name)
const files = new StaticFiles({ root, onProblem })
const webFiles = new WebFiles(onProblem)
const answerer = new FileHandler({ onProblem })
const path = join(root, 'known.txt')
const found = webFiles.see(path)
if (typeof found === 'string') throw new Error(`known.txt is ${found}`)

/** The code of what is thrown. */
function codeOf(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

const taken: number[] = []
/** Takes all descriptors, then acts: a thread of Node.js may have closed one meanwhile. */
function withoutDescriptors<T>(act: () => T): T {
  codeOf(() => {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  })
  return act()
}
let refused = 0
const target = {
  source: webFiles,
  name: path,
  describe: () => ({
    contentType: 'text/plain',
    cacheControl: undefined,
    identity: { name: path, coding: 'identity' as const, version: found },
    compressed: [],
  }),
  l0: undefined,
  refuse: (status: number) => {
    refused = status
  },
}
const seen = {
  public: withoutDescriptors(() => codeOf(() => files.serve(new RecordedExchange(), '/new.txt'))),
  missing: withoutDescriptors(() => codeOf(() => files.serve(new RecordedExchange(), '/no.txt'))),
  web: withoutDescriptors(() => webFiles.see(join(root, 'new.txt'))),
  webMissing: withoutDescriptors(() => webFiles.see(join(root, 'no.txt'))),
  isAnswered: withoutDescriptors(() => answerer.answer(new RecordedExchange(), target, found)),
  refused,
}
for (const fd of taken) closeSync(fd)
writeSync(STDOUT, JSON.stringify({ ...seen, after: files.serve(new RecordedExchange(), '/new.txt'), problems }))
