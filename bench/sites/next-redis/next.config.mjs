import { fileURLToPath } from 'node:url'

export default {
  cacheHandler: fileURLToPath(new URL('cache-handler.mjs', import.meta.url)),
  cacheMaxMemorySize: 0,
}
