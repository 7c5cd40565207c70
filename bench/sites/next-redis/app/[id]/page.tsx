import { unstable_cache } from 'next/cache'

export const revalidate = 3600

export function generateStaticParams() {
  return []
}

/** Each render shows another number. The tag of the data is that of the page. */
export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const tagged = unstable_cache(async () => id, [id], { tags: [`page-${id}`], revalidate: 3600 })
  await tagged()
  return <p>{Math.random()}</p>
}
