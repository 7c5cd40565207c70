export const dynamic = 'force-dynamic'

export function GET(): Response {
  return Response.json({ now: new Date().toISOString() })
}
