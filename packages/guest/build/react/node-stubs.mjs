// Stands in for `util`, `stream` and `crypto` of Node, which React's build loads for functions that the guest never calls.
export class TextEncoder {
  encode() {
    throw new TypeError('React was asked for bytes; the guest renders text')
  }
}
export class Readable {}
export default { TextEncoder, Readable }
