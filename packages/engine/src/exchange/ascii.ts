/** Whether a text is plain ASCII, so that its UTF-8 and latin-1 bytes are the same. */
export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}
