import type { Variance } from '../store/entry.ts'
import type { Databases } from './databases.ts'
import { pathText, ROW, rowKey } from './index-keys.ts'
import { StoreTransaction } from './store-transaction.ts'
import { decodeVariance, encodeVariance, varianceKey } from './variances.ts'

/** Adds to a variance record and clears away the entries of the narrower key, which nobody asks for any more. */
export function widenVariance(databases: Databases, label: string, path: string, variance: Variance): void {
  const { index, variances } = databases
  StoreTransaction.run(databases, (transaction) => {
    const key = varianceKey(label, path)
    const bytes = variances.getBinary(key)
    const known = bytes === undefined ? undefined : decodeVariance(bytes)
    const query = variance.query || (known?.query ?? false)
    const host = variance.host || (known?.host ?? false)
    for (const id of Array.from(index.getValues(rowKey(ROW.path, pathText(path, label))))) {
      const head = transaction.head(id)
      if (head === undefined) continue
      if ((query && !head.isQueryKeyed) || (host && transaction.facts(id, head).host === '')) transaction.clear(id)
    }
    variances.putSync(key, encodeVariance({ query, host }))
  })
}
