import { join } from 'node:path'
import { homePage, layout, notFoundPage, postPage, posts, timeRoute } from './site-code.ts'
import { globalStyle, logo, postListStyle } from './site-style.ts'

/** Makes a package name of a directory name. */
function packageName(title: string): string {
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '')
  return name === '' ? 'site' : name
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** Types come from the installed server: a site has no dependencies. */
const tsconfig = (installedAt: string) => ({
  compilerOptions: {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    strict: true,
    isolatedModules: true,
    skipLibCheck: true,
    noEmit: true,
    typeRoots: [join(installedAt, 'node_modules/@types')],
    types: ['react'],
    paths: { '@/*': ['./*'] },
  },
  files: [join(installedAt, 'packages/site/types/index.d.ts')],
  include: ['**/*.ts', '**/*.tsx'],
})

/**
 * The files of a new site by relative path.
 * @param title name of the site's directory
 * @param installedAt absolute path of the installed server
 */
export function scaffoldFiles(title: string, installedAt: string): Readonly<Record<string, string>> {
  const name = packageName(title)
  return {
    'app/layout.tsx': layout(name),
    'app/globals.css': globalStyle,
    'app/page.tsx': homePage,
    'app/post-list.module.css': postListStyle,
    'app/not-found.tsx': notFoundPage,
    'app/posts/[slug]/page.tsx': postPage,
    'app/api/time/route.ts': timeRoute,
    'lib/posts.ts': posts,
    'public/logo.svg': logo,
    'package.json': json({ name, version: '0.1.0', private: true, type: 'module', scripts: { dev: 'svc serve .' } }),
    'tsconfig.json': json(tsconfig(installedAt)),
    '.gitignore': 'node_modules/\n.svc/\n.env\n',
  }
}
