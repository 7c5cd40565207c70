import { Suspense } from 'react'
import { Rows } from '../rows'

export const dynamic = 'force-dynamic'

async function Late({ delayMs }: { delayMs: number }) {
  await new Promise((resolve) => setTimeout(resolve, delayMs))
  return <Rows count={50} />
}

export default function Page() {
  return (
    <>
      <Rows count={50} />
      <Suspense fallback={<p>Loading …</p>}>
        <Late delayMs={5} />
      </Suspense>
    </>
  )
}
