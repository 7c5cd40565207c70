'use strict'
// The only place that knows where the uWebSockets.js binary comes from. To use another build (for example upstream's
// own package), replace this package in node_modules by it: the API is the same.
let binary
try {
  binary = require('@uwsjs/linux-x64-22')
} catch (cause) {
  const error = new Error(`no uWebSockets.js binary for ${process.platform}-${process.arch} on Node ${process.versions.node}`, {
    cause,
  })
  error.code = 'UWS_UNAVAILABLE'
  throw error
}
module.exports = binary
