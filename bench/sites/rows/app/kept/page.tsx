import { Rows } from '../rows'

export const revalidate = 3600

export default async function Page() {
  return <Rows count={100} />
}
