import { MemoryStore } from '../src/index.ts'
import { cacheStoreContract } from './cache-store-contract.ts'

cacheStoreContract('memory store', async () => new MemoryStore())
