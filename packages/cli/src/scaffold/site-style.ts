export const globalStyle = `:root {
  color-scheme: light dark;
  --text: light-dark(#1d2129, #e7e9ee);
  --quiet: light-dark(#5b6472, #9aa3b2);
  --line: light-dark(#e2e5ea, #2c313a);
  --back: light-dark(#fcfcfd, #14161a);
  --accent: light-dark(#2f5fd0, #8fb0ff);
}

body {
  margin: 0 auto;
  max-width: 42rem;
  padding: 0 1.25rem;
  background: var(--back);
  color: var(--text);
  font: 1.0625rem/1.6 system-ui, sans-serif;
}

header a {
  display: flex;
  gap: 0.6rem;
  align-items: center;
  padding: 1.25rem 0;
  color: inherit;
  font-weight: 600;
  text-decoration: none;
}

main {
  padding: 1rem 0 3rem;
}

h1 {
  margin: 0 0 0.75rem;
  font-size: 2rem;
  line-height: 1.2;
}

a {
  color: var(--accent);
}

code {
  font-size: 0.9em;
}

footer {
  border-top: 1px solid var(--line);
  padding: 1rem 0 2rem;
  color: var(--quiet);
  font-size: 0.9rem;
}
`

export const postListStyle = `.list {
  display: grid;
  gap: 0.75rem;
  margin: 2rem 0 0;
  padding: 0;
  list-style: none;
}

.item {
  display: grid;
  gap: 0.15rem;
  border: 1px solid var(--line);
  border-radius: 0.6rem;
  padding: 0.9rem 1.1rem;
}

.item a {
  font-weight: 600;
  text-decoration: none;
}

.item span {
  color: var(--quiet);
}
`

export const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32">
  <rect width="32" height="32" rx="8" fill="#2f5fd0"/>
  <path d="M9 12h14M9 16h14M9 20h8" stroke="#fff" stroke-width="2.4" stroke-linecap="round"/>
</svg>
`
