export default function NotFound() {
  return (
    <>
      <h1>Nothing here</h1>
      <p>
        There is no page at this address. <a href="/">Back to the start</a>
      </p>
    </>
  )
}
