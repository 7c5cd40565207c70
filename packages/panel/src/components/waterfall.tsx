import { quantity } from '../format/quantity.ts'
import { Quantity } from './quantity.tsx'

/** A part of the passage of a request. */
interface PassageStage {
  readonly name: string
  readonly start_ms: number
  readonly duration_ms: number
  readonly outcome: string
}

interface WaterfallProps {
  readonly label: string
  readonly stages: readonly PassageStage[]
}

/** The stages of a request in time, as bars beside their figures. */
export function Waterfall({ label, stages }: WaterfallProps) {
  const endMs = Math.max(0.001, ...stages.map(({ start_ms: start, duration_ms: duration }) => start + duration))
  const share = (ms: number) => `${(ms / endMs) * 100}%`
  return (
    <table class="waterfall">
      <caption>
        {label}: {quantity(endMs, 'ms').text}
      </caption>
      <thead>
        <tr>
          <th scope="col">Stage</th>
          <th scope="col" class="minor">
            Outcome
          </th>
          <th scope="col" class="minor">
            Start
          </th>
          <th scope="col">Duration</th>
          <td class="bars" />
        </tr>
      </thead>
      <tbody>
        {stages.map(({ name, start_ms: start, duration_ms: duration, outcome }, index) => (
          <tr key={index}>
            <th scope="row">{name}</th>
            <td class="minor">{outcome}</td>
            <td class="minor">
              <Quantity value={start} unit="ms" />
            </td>
            <td>
              <Quantity value={duration} unit="ms" />
            </td>
            <td class="bars" aria-hidden="true">
              <span
                class="bar"
                style={{ marginLeft: `min(${share(start)}, 100% - 2px)`, width: `max(2px, ${share(duration)})` }}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
