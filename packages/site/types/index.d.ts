/**
 * Makes every helper module known under both of its names. Name this file in the "files" or "types" of a site's
 * tsconfig.json; nothing has to be installed beside the site.
 */
/// <reference path="./globals.d.ts" />

declare module 'svc' {
  export * from '@svc/site/types/site'
}
declare module 'next' {
  export * from '@svc/site/types/site'
}
declare module 'svc/navigation' {
  export * from '@svc/site/types/navigation'
}
declare module 'next/navigation' {
  export * from '@svc/site/types/navigation'
}
declare module 'svc/headers' {
  export * from '@svc/site/types/headers'
}
declare module 'next/headers' {
  export * from '@svc/site/types/headers'
}
declare module 'svc/cache' {
  export * from '@svc/site/types/cache'
}
declare module 'next/cache' {
  export * from '@svc/site/types/cache'
}
declare module 'svc/server' {
  export * from '@svc/site/types/server'
}
declare module 'next/server' {
  export * from '@svc/site/types/server'
}
declare module 'svc/link' {
  export * from '@svc/site/types/link'
  export { default } from '@svc/site/types/link'
}
declare module 'next/link' {
  export * from '@svc/site/types/link'
  export { default } from '@svc/site/types/link'
}
declare module 'svc/image' {
  export * from '@svc/site/types/image'
  export { default } from '@svc/site/types/image'
}
declare module 'next/image' {
  export * from '@svc/site/types/image'
  export { default } from '@svc/site/types/image'
}
declare module 'svc/script' {
  export * from '@svc/site/types/script'
  export { default } from '@svc/site/types/script'
}
declare module 'next/script' {
  export * from '@svc/site/types/script'
  export { default } from '@svc/site/types/script'
}
