import protobuf from 'protobufjs'

/** The messages of OTLP 1.x, as far as tests read them; field numbers as in the published definitions. */
const DEFINITIONS = `
syntax = "proto3";
message AnyValue { oneof value { string stringValue = 1; bool boolValue = 2; int64 intValue = 3; double doubleValue = 4; } }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; string version = 2; }
message Status { string message = 2; int32 code = 3; }
message Span {
  bytes traceId = 1; bytes spanId = 2; string traceState = 3; bytes parentSpanId = 4; string name = 5; int32 kind = 6;
  fixed64 startTimeUnixNano = 7; fixed64 endTimeUnixNano = 8; repeated KeyValue attributes = 9; Status status = 15; fixed32 flags = 16;
}
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopeSpans = 2; }
message TraceRequest { repeated ResourceSpans resourceSpans = 1; }
message NumberPoint {
  fixed64 startTimeUnixNano = 2; fixed64 timeUnixNano = 3; repeated KeyValue attributes = 7;
  oneof value { double asDouble = 4; sfixed64 asInt = 6; }
}
message Gauge { repeated NumberPoint dataPoints = 1; }
message Sum { repeated NumberPoint dataPoints = 1; int32 aggregationTemporality = 2; bool isMonotonic = 3; }
message HistogramPoint {
  fixed64 startTimeUnixNano = 2; fixed64 timeUnixNano = 3; fixed64 count = 4; double sum = 5;
  repeated fixed64 bucketCounts = 6; repeated double explicitBounds = 7; repeated KeyValue attributes = 9;
}
message Histogram { repeated HistogramPoint dataPoints = 1; int32 aggregationTemporality = 2; }
message Metric { string name = 1; string description = 2; string unit = 3; oneof data { Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; } }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scopeMetrics = 2; }
message MetricsRequest { repeated ResourceMetrics resourceMetrics = 1; }
`

type Attributes = Readonly<Record<string, string | number | boolean>>

/** A span as a collector gets it. Ids are hexadecimal, times milliseconds since 1970. */
export interface ReceivedSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly traceState: string
  readonly startedAt: number
  readonly endedAt: number
  readonly isError: boolean
  readonly attributes: Attributes
  readonly resource: Attributes
}

/** A data point as a collector gets it. */
export interface ReceivedPoint {
  readonly metric: string
  readonly kind: 'gauge' | 'sum' | 'histogram'
  readonly attributes: Attributes
  readonly resource: Attributes
  /** The number; of a histogram, its sum. */
  readonly value: number
  readonly startedAt: number
  readonly isCumulative: boolean
  readonly count: number | undefined
  readonly bucketCounts: readonly number[]
  readonly bounds: readonly number[]
}

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, string | number | boolean>>
}
const root = protobuf.parse(DEFINITIONS).root

// biome-ignore lint/suspicious/noExplicitAny: the shape is the one of the definitions above
function decoded(type: string, bytes: Uint8Array): any {
  const found = root.lookupType(type)
  return found.toObject(found.decode(bytes), { longs: String, bytes: String, arrays: true, defaults: true, oneofs: true })
}

function attributesOf(pairs: readonly KeyValue[]): Attributes {
  const held = ({ value }: KeyValue) => {
    const kind = String(value['value'])
    const content = value[kind] ?? ''
    return kind === 'intValue' ? Number(content) : content
  }
  return Object.fromEntries(pairs.map((pair) => [pair.key, held(pair)]))
}

const hex = (base64: string) => Buffer.from(base64, 'base64').toString('hex')
const millis = (nanos: string) => Number(BigInt(nanos) / 1000n) / 1000

/** Decodes an ExportTraceServiceRequest. */
export function decodeSpans(bytes: Uint8Array): ReceivedSpan[] {
  const found: ReceivedSpan[] = []
  for (const { resource, scopeSpans } of decoded('TraceRequest', bytes).resourceSpans)
    for (const { spans } of scopeSpans)
      for (const span of spans)
        found.push({
          name: span.name,
          kind: span.kind,
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parentSpanId: hex(span.parentSpanId),
          traceState: span.traceState,
          startedAt: millis(span.startTimeUnixNano),
          endedAt: millis(span.endTimeUnixNano),
          isError: span.status?.code === 2,
          attributes: attributesOf(span.attributes),
          resource: attributesOf(resource.attributes),
        })
  return found
}

/** Decodes an ExportMetricsServiceRequest. */
export function decodeMetrics(bytes: Uint8Array): ReceivedPoint[] {
  const found: ReceivedPoint[] = []
  for (const { resource, scopeMetrics } of decoded('MetricsRequest', bytes).resourceMetrics)
    for (const { metrics } of scopeMetrics)
      for (const metric of metrics) {
        const kind = metric.data as ReceivedPoint['kind']
        for (const point of metric[kind].dataPoints)
          found.push({
            metric: metric.name,
            kind,
            attributes: attributesOf(point.attributes),
            resource: attributesOf(resource.attributes),
            value: kind === 'histogram' ? point.sum : Number(point.asDouble ?? point.asInt),
            startedAt: millis(point.startTimeUnixNano),
            isCumulative: metric[kind].aggregationTemporality === 2,
            count: point.count === undefined ? undefined : Number(point.count),
            bucketCounts: (point.bucketCounts ?? []).map(Number),
            bounds: point.explicitBounds ?? [],
          })
      }
  return found
}
