/** What reads HTML and robots.txt, and writes markdown. The package holds a copy: it asks for a newer Node than Runlet. */
import parseRobots from 'robots-parser';

export { Parser } from 'htmlparser2';
export { gfmTableToMarkdown } from 'mdast-util-gfm-table';
export { toMarkdown } from 'mdast-util-to-markdown';

// SAFETY: the package is the function itself, but its declaration has the function in the field `default`.
export const robotsParser = parseRobots as unknown as typeof parseRobots.default;
