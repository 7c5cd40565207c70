// Runs long-lasting tests: each part repeats its work until its rounds or the time run out, and prints its progress.
//
//   npm run soak                              all parts, at most an hour
//   npm run soak -- --list                    names the parts
//   npm run soak -- store-kills --rounds 50   one part, some rounds
//   npm run soak -- --minutes 10 --seed 7     less time; a seed repeats the choices of an earlier run
//   TEST_ENGINE=node npm run soak -- tls-reload   with engine node
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const args = ['--disable-warning=ExperimentalWarning', join(root, 'test/soak/main.ts'), ...process.argv.slice(2)]
const child = spawn(join(root, 'bin/node'), args, { cwd: root, stdio: 'inherit' })
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 1
  if (signal !== null) console.error(`ended by ${signal}`)
})
