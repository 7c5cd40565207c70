// Writes the files that are generated from the configuration schema, the table of endpoints and the table of directives. Run
// with the bundled Node:
//
//   bin/node scripts/generate-docs.mjs
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endpointReference } from '../packages/admin/src/index.ts'
import { exampleToml, referenceMarkdown } from '../packages/config/src/index.ts'
import { rejectedDirectivesPage } from '../packages/vhosts/src/index.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

await writeFile(join(root, 'svc.config.toml.example'), exampleToml())
await writeFile(join(root, 'docs/reference/config.md'), referenceMarkdown())
await writeFile(join(root, 'docs/reference/endpoints.md'), endpointReference())
await writeFile(join(root, 'docs/vhosts/not-available.md'), rejectedDirectivesPage())
