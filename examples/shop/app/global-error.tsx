'use client'

/** Takes the place of the whole document when the root layout itself fails. */
export default function GlobalError() {
  return (
    <html lang="en">
      <body>
        <h1>The shop is closed for a moment</h1>
        <p>
          <a href="/">Try again</a>
        </p>
      </body>
    </html>
  )
}
