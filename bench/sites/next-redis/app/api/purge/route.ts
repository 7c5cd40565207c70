import { revalidateTag } from 'next/cache'

export function POST(request: Request) {
  revalidateTag(new URL(request.url).searchParams.get('tag') ?? '', { expire: 0 })
  return Response.json({ purged: true })
}
