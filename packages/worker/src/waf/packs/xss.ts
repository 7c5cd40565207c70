import type { PackPatterns } from './pack.ts'

/** Between the characters of a scheme, browsers skip white space. */
const spaced = (word: string) => [...word].join(' ?')

/** Markup and code that browsers run. */
export const xss: PackPatterns = {
  markup: [
    '<[/?]?[a-z]*:?(?:script|iframe|frameset|frame|object|embed|applet|meta|base|isindex|bgsound|marquee|ilayer|layer|xml|xss|keygen|vmlframe|set|animate\\w*|foreignobject|handler|listener|use|portal|template|noscript|svg|math)[ />\\n\\x0c"\']',
    '<(?:script|iframe|svg|math|object|embed|meta|base)$',
    '<(?:style|link|form|details|body|html)[ />][^\\n]*[=:@]',
    '<!(?:--|\\[cdata|doctype|entity|element|attlist)',
    '<\\?(?:import|xml-stylesheet|php)',
    '\\bsrcdoc ?=',
    '\\bformaction ?=',
    '\\bxlink:href ?=',
    '\\bxmlns(?::\\w+)? ?=',
    '\\bdatasrc ?=',
    '\\battributename ?= ?["\']?(?:on|href|style)',
    '["\'][^\\n<>]*\\bstyle ?= ?[^\\n]*(?:expression|url ?[(]|@import|behaviou?r|binding)',
  ],
  handlers: [
    '(?:^|[ "\'`/<;>=\\n])on(?:abort|activate|after\\w+|animation\\w+|auxclick|before\\w+|begin|blur|bounce|canplay\\w*|cellchange|change|click|close|contextmenu|controlselect|copy|cuechange|cut|data\\w+|dblclick|deactivate|drag\\w*|drop|durationchange|emptied|end|ended|error\\w*|filterchange|finish|focus\\w*|formdata|fullscreen\\w+|gotpointercapture|hashchange|help|input|invalid|key\\w+|languagechange|layoutcomplete|load\\w*|losecapture|lostpointercapture|message\\w*|mouse\\w+|move\\w*|offline|online|outofsync|page\\w+|paste|pause|play\\w*|pointer\\w+|popstate|progress|propertychange|ratechange|readystatechange|repeat|reset|resize\\w*|resume|reverse|row\\w+|scroll\\w*|search|seek\\w+|select\\w*|show|stalled|start|stop|storage|submit|suspend|sync\\w+|time\\w+|toggle|touch\\w+|trackchange|transition\\w+|unhandledrejection|unload|urlflip|volumechange|waiting|webkit\\w+|wheel|zoom) ?=',
    '<[a-z][^\\n>]*[ /"\'\\x0c]on[a-z]+ ?=',
  ],
  code: [
    `(?:${spaced('java')}|${spaced('vb')}|${spaced('live')}|${spaced('j')}) ?${spaced('script')} ?:`,
    'data ?:[^\\n ,]*(?:text/(?:html|xml|javascript)|image/svg|application/(?:xhtml|xml|javascript)|;base64)',
    '-moz-binding',
    '\\bbehaviou?r ?: ?url',
    '\\bexpression ?[(]',
    '@import ?(?:["\'(]|url)',
    '\\b(?:alert|confirm|prompt|eval|msgbox|execscript)(?:[(`]| ?[(][^ )]*[)]|\\.(?:call|apply|bind)| ?["\'/]\\w)',
  ],
  objects: [
    '\\b(?:document|window|self|top|parent|frames|this|globalthis) ?(?:\\.|\\[) ?["\'`]?(?:cookie|write\\w*|domain|location|body|getelement\\w*|queryselector\\w*|createelement|implementation|eval|alert|name|open|localstorage|sessionstorage|al|aler|document|window|addeventlistener|constructor)\\b',
    '\\b(?:settimeout|setinterval|setimmediate|function|fetch|importscripts|postmessage|createelement|fromcharcode|fromcodepoint|unescape|decodeuri\\w*|atob|activexobject) ?[(] ?["\'`\\w/]*["\'`)/,]',
    '\\.(?:innerhtml|outerhtml|insertadjacenthtml|fromcharcode|createcontextualfragment)',
    '\\bconstructor ?[.\\[(]',
    '\\[ ?["\'`](?:constructor|__proto__|prototype|alert|eval|cookie|location)["\'`] ?\\]',
    '\\blocation ?(?:=|\\.(?:href|hash|replace|assign)) ?[=(]? ?["\'`/\\w]+[:(]',
    '\\+a(?:dw|d4)-',
  ],
  templates: [
    '\\{\\{[^\\n]*(?:constructor|\\$on|alert|eval|__proto__|\\(\\))[^\\n]*\\}\\}',
    '\\$\\{[^\\n}]*(?:alert|eval|document|constructor)',
  ],
}
