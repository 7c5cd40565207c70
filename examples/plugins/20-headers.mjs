// Sets security fields on every response of a site, and removes those that tell what runs behind it.

const SECURITY = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'x-powered-by': null,
}

/** @type {import('svc/plugin').Plugin} */
export default {
  name: 'headers',
  version: '1.0.0',
  // The fields follow from the response alone: it may enter the cache with them.
  cacheable: true,
  hooks: {
    onResponse(_request, response) {
      // A page that sets one of them knows better.
      const missing = Object.entries(SECURITY).filter(([name, value]) => value === null || !response.headers.has(name))
      return { headers: Object.fromEntries(missing) }
    },
  },
}
