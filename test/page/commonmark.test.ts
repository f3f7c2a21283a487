/**
 * The page draws the examples of CommonMark's specification as the specification says. `differing` lists the others.
 */
import { tests } from 'commonmark-spec';
import { expect, onTestFinished, test } from 'vitest';
import { startBrowser } from './browser.ts';
import { loadModule } from './module.ts';

type Module = typeof import('../../src/page/markdown/markdown.ts');

/** The specification writes tabs as arrows. Addresses need a host, because the page makes no links without one. */
const examples = tests.map(({ number, markdown, html }) => ({
	number,
	markdown: markdown.replaceAll('→', '\t').replace(/\]\((<?)\/(?!\/)/g, ']($1https://a.example/'),
	html: html
		.replaceAll('→', '\t')
		.replaceAll('href="/', 'href="https://a.example/')
		.replace(/\]\(\/(?!\/)/g, '](https://a.example/'),
}));

/** Why an example looks different, by the pattern of its source. */
const patterns: readonly (readonly [why: string, pattern: RegExp])[] = [
	['HTML is shown as text', /<\/?[a-z][a-z\d-]*(?:[\s/>]|$)|<[?!]/i],
	['a block does not depend on the definition of a link in another block', /^[ >*-]{0,5}\[(?:\\.|[^\]])*\]:/m],
	['an image of another host is shown as text', /!\[/],
];

/** Why an example looks different, by its number. */
const differing: Readonly<Record<string, readonly number[]>> = {
	'`\\[` begins a formula': [12],
	'of the names of characters only the usual ones are known': [25, 32],
	'a heading without words shows its marks': [79],
	'words after a heading in an item are a paragraph': [300],
	'one star between letters is a star, as in 2*3*4': [355, 356, 429],
	'a link without a host, or with another scheme than HTTP, is shown as it was written': [
		484, 485, 486, 487, 492, 495, 496, 498, 499, 500, 501, 502, 503, 504, 522, 596, 597, 598, 599, 601, 604, 605,
	],
	'a link has one line': [510],
	'a bare address is a link, as on GitHub': [488, 508, 513, 518, 519, 602, 608, 611],
	'a backslash in an address is a slash, as in a browser': [603],
};

test('the page draws the examples of CommonMark as it says', async () => {
	const browser = await startBrowser();
	onTestFinished(() => browser.close());
	const page = await browser.openPage();
	await page.goto('about:blank');
	const module = await loadModule<Module>(page, 'markdown/markdown');
	const drawn = await module.evaluate(({ createMarkdown }, examples) => {
		/** Writes a tree as text, without what is the page's own: classes, the heads of code and spaces at the ends of lines. */
		function write(node: Node): string {
			if (node instanceof Text) {
				const text = node.parentElement?.closest('pre') ? node.data : node.data.replace(/ *\n */g, '\n');
				return text.replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
			}
			if (!(node instanceof Element) || node.matches('button')) return '';
			if (node.matches('br')) return node.nextSibling?.textContent?.startsWith('\n') ? '' : '\n';
			const inner = [...node.childNodes].map(write).join('');
			if (node.matches('div, span')) return inner;
			if (node instanceof HTMLPreElement) return `<pre>${inner.replace(/<\/?code>/g, '').replace(/\n$/, '')}</pre>`;
			if (node instanceof HTMLAnchorElement) return `<a ${decodeURI(node.href)}>${inner}</a>`;
			if (node instanceof HTMLOListElement) return `<ol ${node.start}>${inner}</ol>`;
			return `<${node.localName}>${inner}</${node.localName}>`;
		}
		const toText = (root: Element) =>
			[...root.childNodes]
				.map(write)
				.join('')
				.replace(
					/(<(?:p|li|ul|ol|blockquote|h\d|hr|pre)(?: \d+)?>|<\/(?:p|li|ul|ol|blockquote|h\d|hr|pre)>)[ \n]+/g,
					'$1',
				)
				.replace(/[ \n]+(?=<\/?(?:p|li|ul|ol|blockquote|h\d)[ >]|$)/g, '')
				// The first words of an item have no paragraph.
				.replace(/<li><p>([\s\S]*?)<\/p>/g, '<li>$1');
		return examples.map(({ markdown, html }) => {
			const root = document.createElement('div');
			const writer = createMarkdown(root);
			writer.write(markdown);
			writer.end();
			const wanted = document.createElement('div');
			// The first two ranks of headings are the page's own.
			wanted.innerHTML = html.replace(
				/(<\/?h)([1-6])>/g,
				(_, head, rank) => `${head}${Math.min(5, Number(rank) + 2)}>`,
			);
			return { shown: toText(root), wanted: toText(wanted) };
		});
	}, examples);
	const others = examples.flatMap(({ number, markdown }, at) => {
		const { shown, wanted } = drawn[at] ?? {};
		if (shown === wanted || patterns.some(([, pattern]) => pattern.test(markdown))) return [];
		return [number];
	});
	expect(others).toEqual(
		Object.values(differing)
			.flat()
			.sort((one, other) => one - other),
	);
	expect(drawn.filter(({ shown, wanted }) => shown === wanted)).toHaveLength(454);
});
