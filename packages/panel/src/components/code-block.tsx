import { useServices } from '../data/services.ts'

/** Text of a machine, as it is, with a button to copy it. */
export function CodeBlock({ label, text }: { readonly label: string; readonly text: string }) {
  const { announcement } = useServices()
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => announcement.set(`${label}: copied`),
      () => announcement.set(`${label}: failed to copy: select the text instead`),
    )
  return (
    <figure class="code">
      <figcaption>
        {label}
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </figure>
  )
}
