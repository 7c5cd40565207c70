const PARTS = 'parts of responses are not stored: only a whole response answers'
const COOKIES = 'a response that sets a cookie is not stored: others would get it'

/** Tests that are not passed, and why that is meant to be so (docs/decisions/0015-cache-tests-not-passed.md). */
export const accepted: Readonly<Record<string, string>> = {
  'age-parse-prefix': 'a list in Age makes a response stale, as the title of the test asks; its check asks for the contrary',
  'headers-store-Set-Cookie': COOKIES,
  'headers-store-Transfer-Encoding': 'an answer in an unknown transfer coding is refused: nobody can tell where it ends',
  '304-etag-update-response-Set-Cookie': COOKIES,
  'other-date-update': 'as with nginx, Date is when the answer was sent, and Age says how old it is',
  'other-set-cookie': COOKIES,
  'method-POST': 'answers to POST are not stored',
  'vary-normalise-lang-order': 'some servers go by the order of languages',
  'vary-normalise-lang-select': 'which language is best is for the upstream to say',
  'conditional-lm-fresh-no-lm': 'the response was made after the date that the client names',
  'partial-store-partial-reuse-partial': PARTS,
  'partial-store-partial-reuse-partial-byterange': PARTS,
  'partial-store-partial-reuse-partial-absent': PARTS,
  'partial-store-partial-reuse-partial-suffix': PARTS,
  'partial-store-partial-complete': PARTS,
}
