/** Prepares the drawing of Markdown while the page is idle. */

import { element } from '../parts/element.ts';
import { createMarkdown } from './markdown.ts';

/** A text with most kinds of Markdown. Formulas and coloured code are missing, because they load more scripts. */
const sample = `# A *b* **c** ~~d~~ \`e\` [f](/g) https://a.example

- a

1. b
   - [ ] c

> d

| a | b |
|---|:-:|
| c | d |

\`\`\`
a
\`\`\`

---

<b>a</b> &amp; \\* b[^1]

[^1]: c

`;

/**
 * Draws the sample twice, outside of the page. A browser compiles a regular expression at its first use and again at its
 * second use. Without this function, the first answer waits for the compilation.
 */
export function warmUp(times = 2): void {
	if (!('requestIdleCallback' in globalThis)) return;
	requestIdleCallback(() => {
		const { write, flush, end } = createMarkdown(element('div'));
		write(sample);
		flush();
		end();
		if (times > 1) warmUp(times - 1);
	});
}
