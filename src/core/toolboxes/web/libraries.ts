/** Libraries for HTML, robots.txt and markdown. They are bundled because htmlparser2 needs a newer Node than Runlet. */
import parseRobots from 'robots-parser';

export { Parser } from 'htmlparser2';
export { gfmTableToMarkdown } from 'mdast-util-gfm-table';
export { toMarkdown } from 'mdast-util-to-markdown';

// SAFETY: the module itself is the function, but its type declaration has the function in the field `default`.
export const robotsParser = parseRobots as unknown as typeof parseRobots.default;
