/** Where the blog is reached; set SITE_URL in the configuration of the site. */
export const siteUrl = process.env.SITE_URL ?? 'http://blog.localhost:8080'

export const siteName = 'Plain Pages'
export const siteDescription = 'Short notes about a web server, written as files.'
