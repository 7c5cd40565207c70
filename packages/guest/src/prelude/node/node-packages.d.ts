declare module 'events' {
  const EventEmitter: (new () => object) & Readonly<Record<string, unknown>>
  export default EventEmitter
}
