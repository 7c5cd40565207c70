/** Sent at once when the page has to wait for something. */
export default function Loading() {
  return <p className="quiet">Fetching the shelf…</p>
}
