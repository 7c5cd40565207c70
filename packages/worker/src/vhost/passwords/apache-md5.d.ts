declare module 'apache-md5' {
  /** MD5 of Apache or, with a salt of "$1$", of Unix. One character of the password for each byte. */
  export default function apacheMd5(password: string, salt?: string): string
}
