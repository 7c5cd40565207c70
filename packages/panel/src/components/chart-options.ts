import type UPlot from 'uplot'
import { quantity, type Unit } from '../format/quantity.ts'
import { axisTime } from '../format/relative-time.ts'

/** Something that happened at a time. */
export interface Mark {
  readonly atSecs: number
  readonly label: string
}

/** Colours of the page, as a canvas takes them. */
export interface ChartColours {
  readonly text: string
  readonly grid: string
  readonly mark: string
  readonly series: readonly string[]
}

/** Reads the colours of the style sheet for an element: a canvas knows no variables. */
export function colours(element: HTMLElement): ChartColours {
  const probe = document.createElement('span')
  element.append(probe)
  const read = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const found = {
    text: read('text-2'),
    grid: read('line'),
    mark: read('warning'),
    series: [1, 2, 3, 4].map((index) => read(`series-${index}`)),
  }
  probe.remove()
  return found
}

interface PlotOptions {
  readonly unit: Unit
  readonly labels: readonly string[]
  readonly marks: () => readonly Mark[]
  readonly onPoint: (index: number | null) => void
  readonly palette: ChartColours
  readonly width: number
}

/** Lines of other shape besides other colours. */
const dashes: readonly number[][] = [[], [6, 3], [2, 3], [10, 3, 2, 3]]

function drawMarks({ ctx, bbox, valToPos }: UPlot, marks: readonly Mark[], colour: string): void {
  ctx.save()
  ctx.strokeStyle = colour
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([4, 4])
  for (const { atSecs } of marks) {
    const x = Math.round(valToPos(atSecs, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

/** The times of an axis, each once: a day has several ticks. */
function timesOf(ticks: readonly number[]): string[] {
  const spanMs = ((ticks.at(-1) ?? 0) - (ticks[0] ?? 0)) * 1000
  const texts = ticks.map((tick) => axisTime(tick * 1000, spanMs))
  return texts.map((text, index) => (text === texts[index - 1] ? '' : text))
}

export function optionsOf({ unit, labels, marks, onPoint, palette, width }: PlotOptions): UPlot.Options {
  const axis = { stroke: palette.text, grid: { stroke: palette.grid, width: 1 }, ticks: { stroke: palette.grid, width: 1 } }
  return {
    width,
    height: 180,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, values: (_plot, ticks) => timesOf(ticks) },
      { ...axis, size: 64, values: (_plot, ticks) => ticks.map((tick) => quantity(tick, unit).text) },
    ],
    series: [
      {},
      ...labels.map((label, index) => ({
        label,
        stroke: palette.series[index] ?? palette.text,
        dash: dashes[index] ?? [],
        width: 1.5,
        points: { size: 4 },
      })),
    ],
    hooks: {
      setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)],
      draw: [(plot) => drawMarks(plot, marks(), palette.mark)],
    },
  }
}
