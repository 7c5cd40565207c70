type NumberMethod = (this: Uint8Array, ...args: never[]) => unknown

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Fixed-size kinds: the name in Node's methods, the accessor of DataView, and the size in bytes. */
const kinds = [
  ['Int16', 'Int16', 2],
  ['UInt16', 'Uint16', 2],
  ['Int32', 'Int32', 4],
  ['UInt32', 'Uint32', 4],
  ['Float', 'Float32', 4],
  ['Double', 'Float64', 8],
  ['BigInt64', 'BigInt64', 8],
  ['BigUInt64', 'BigUint64', 8],
] as const

const MAX_BYTES = 6

function checkSize(size: number): void {
  if (!(size >= 1 && size <= MAX_BYTES)) throw new RangeError(`byteLength must be from 1 to ${MAX_BYTES}`)
}

function readUnsigned(bytes: Uint8Array, at: number, size: number, isLittle: boolean): number {
  checkSize(size)
  if (at < 0 || at + size > bytes.length) throw new RangeError('Attempt to access memory outside buffer bounds')
  let value = 0
  for (let i = 0; i < size; i++) value = value * 256 + (bytes[isLittle ? at + size - 1 - i : at + i] as number)
  return value
}

function writeInteger(...given: [bytes: Uint8Array, value: number, at: number, size: number, isLittle: boolean]): number {
  const [bytes, value, at, size, isLittle] = given
  checkSize(size)
  if (at < 0 || at + size > bytes.length) throw new RangeError('Attempt to access memory outside buffer bounds')
  let rest = value < 0 ? value + 256 ** size : value
  for (let i = 0; i < size; i++) {
    bytes[isLittle ? at + i : at + size - 1 - i] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return at + size
}

function signed(value: number, size: number): number {
  return value >= 2 ** (size * 8 - 1) ? value - 2 ** (size * 8) : value
}

function variableMethods(): Record<string, NumberMethod> {
  const methods: Record<string, NumberMethod> = {}
  for (const order of ['LE', 'BE'] as const) {
    const isLittle = order === 'LE'
    methods[`readUInt${order}`] = function (this: Uint8Array, at: number, size: number) {
      return readUnsigned(this, at, size, isLittle)
    }
    methods[`readInt${order}`] = function (this: Uint8Array, at: number, size: number) {
      return signed(readUnsigned(this, at, size, isLittle), size)
    }
    methods[`writeUInt${order}`] = methods[`writeInt${order}`] = function (
      this: Uint8Array,
      value: number,
      at: number,
      size: number,
    ) {
      return writeInteger(this, value, at, size, isLittle)
    }
  }
  return methods
}

function fixedMethods(): Record<string, NumberMethod> {
  const methods: Record<string, NumberMethod> = {}
  for (const [name, accessor, size] of kinds) {
    for (const order of ['LE', 'BE'] as const) {
      const isLittle = order === 'LE'
      methods[`read${name}${order}`] = function (this: Uint8Array, at = 0) {
        return viewOf(this)[`get${accessor}`](at, isLittle)
      }
      methods[`write${name}${order}`] = function (this: Uint8Array, value: never, at = 0) {
        viewOf(this)[`set${accessor}`](at, value, isLittle)
        return at + size
      }
    }
  }
  return methods
}

/** The methods of Node's Buffer that read and write numbers, each under `UInt` and `Uint` names. */
export function numberMethods(): Record<string, NumberMethod> {
  const methods: Record<string, NumberMethod> = {
    ...variableMethods(),
    ...fixedMethods(),
    readInt8(at = 0) {
      return viewOf(this).getInt8(at)
    },
    readUInt8(at = 0) {
      return viewOf(this).getUint8(at)
    },
    writeInt8(value: number, at = 0) {
      viewOf(this).setInt8(at, value)
      return at + 1
    },
    writeUInt8(value: number, at = 0) {
      viewOf(this).setUint8(at, value)
      return at + 1
    },
  }
  for (const [name, method] of Object.entries(methods)) if (name.includes('UInt')) methods[name.replace('UInt', 'Uint')] = method
  return methods
}
