import { Rows } from '../rows'

export const dynamic = 'force-dynamic'

export default async function Page() {
  return <Rows count={1000} />
}
