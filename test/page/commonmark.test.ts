/**
 * The page draws the examples of CommonMark's specification as the specification says. `differing` lists the others.
 */
import { tests } from 'commonmark-spec';
import { expect, onTestFinished, test } from 'vitest';
import { startBrowser } from './browser.ts';
import { loadModule } from './module.ts';
import { drawAsSpecified } from './specified.ts';

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
	const drawn = await drawAsSpecified(module, examples);
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
