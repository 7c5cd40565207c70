import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type UPlot from 'uplot'
import { quantity, type Unit } from '../format/quantity.ts'
import { absoluteTime } from '../format/relative-time.ts'
import { type ChartColours, colours, type Mark, optionsOf } from './chart-options.ts'

/** A line of a chart; null: there was nothing to measure. */
interface Series {
  readonly label: string
  readonly values: readonly (number | null)[]
}

interface ChartProps {
  readonly title: string
  readonly unit: Unit
  /** Unix seconds, ascending. */
  readonly times: readonly number[]
  /** At most four. */
  readonly series: readonly Series[]
  readonly marks?: readonly Mark[] | undefined
}

const noMarks: readonly Mark[] = []

/** Lines over time with exact values under the pointer, and all of them in a table. */
export function Chart({ title, unit, times, series, marks = noMarks }: ChartProps) {
  const id = useId()
  const [shown, setShown] = useState<number | null>(null)
  // The current bucket may have nothing yet.
  const last = times.findLastIndex((_, index) => series.some(({ values }) => typeof values[index] === 'number'))
  const at = shown === null || shown > last ? last : shown
  const time = times[at]
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      <Plot title={title} unit={unit} times={times} series={series} marks={marks} onPoint={setShown} />
      <ul class="legend">
        {series.map(({ label, values }, index) => (
          <li key={label}>
            <span class={`swatch swatch-${index + 1}`} aria-hidden="true" />
            {label} <strong title={quantity(values[at], unit).exact}>{quantity(values[at], unit).text}</strong>
          </li>
        ))}
        {time !== undefined && <li class="legend-time">{absoluteTime(time * 1000)}</li>}
      </ul>
      <ChartTable title={title} unit={unit} times={times} series={series} marks={marks} />
    </figure>
  )
}

interface PlotProps extends ChartProps {
  readonly marks: readonly Mark[]
  readonly onPoint: (index: number | null) => void
}

/** The drawing, which is loaded when the first chart shows. */
function Plot({ title, unit, times, series, marks, onPoint }: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | undefined>(undefined)
  const data = useRef<UPlot.AlignedData>([[]])
  const marked = useRef(marks)
  data.current = [times as number[], ...series.map(({ values }) => values as (number | null)[])]
  marked.current = marks
  const labels = series.map(({ label }) => label).join('\n')
  useEffect(() => {
    let isDrawn = true
    let observer: ResizeObserver | undefined
    let make: () => void = () => undefined
    const draw = async () => {
      const { default: Plotter } = await import('uplot')
      const place = box.current
      if (!isDrawn || place === null) return
      const options = (palette: ChartColours) =>
        optionsOf({ unit, labels: labels.split('\n'), marks: () => marked.current, onPoint, palette, width: place.clientWidth })
      make = () => {
        plot.current?.destroy()
        plot.current = new Plotter(options(colours(place)), data.current, place)
      }
      make()
      observer = new ResizeObserver(([entry]) => {
        if (entry !== undefined) plot.current?.setSize({ width: entry.contentRect.width, height: 180 })
      })
      observer.observe(place)
    }
    const onTheme = () => make()
    const media = matchMedia('(prefers-color-scheme: dark)')
    media.addEventListener('change', onTheme)
    addEventListener('svc:theme', onTheme)
    void draw()
    return () => {
      isDrawn = false
      observer?.disconnect()
      media.removeEventListener('change', onTheme)
      removeEventListener('svc:theme', onTheme)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [unit, labels, onPoint])
  useEffect(() => plot.current?.setData(data.current), [times, series, marks])
  return <div ref={box} class="plot" role="img" aria-label={`Chart: ${title}. Its values are in the table below.`} />
}

function ChartTable({ title, unit, times, series, marks = noMarks }: ChartProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details class="chart-table" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Values as a table</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        <section class="table-box" aria-label={`Values: ${title}`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map(({ label }) => (
                  <th key={label} scope="col" class="figure">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, index) => (
                <tr key={time}>
                  <th scope="row">{absoluteTime(time * 1000)}</th>
                  {series.map(({ label, values }) => (
                    <td key={label} class="figure">
                      {quantity(values[index], unit).exact}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {marks.length > 0 && (
            <ul>
              {marks.map(({ atSecs, label }) => (
                <li key={`${atSecs} ${label}`}>
                  {absoluteTime(atSecs * 1000)}: {label}
                </li>
              ))}
            </ul>
          )}
        </section>
      )}
    </details>
  )
}
