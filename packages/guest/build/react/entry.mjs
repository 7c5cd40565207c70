// Everything of React that the guest carries, as one module.
export { default as react } from 'react'
export { default as compilerRuntime } from 'react/compiler-runtime'
export { default as jsxDevRuntime } from 'react/jsx-dev-runtime'
export { default as jsxRuntime } from 'react/jsx-runtime'
export { default as reactDom } from 'react-dom'
export { default as server } from 'react-dom/server'
