import { Parser } from './libraries.ts';
import { Page, type PageText, type Part } from './page.ts';

/** Characters of a main part that is read without a look at the rest. */
const enough = 200;

/**
 * Reads a page: its main part if it says which that is, else the body without navigation and footers. Leaves out
 * scripts, forms and what is hidden. The work grows with the length of the page, and no faster. Throws
 * `invalid_argument` for a page that nests too deep.
 */
export function readHtml(html: string, url: URL): PageText {
	const part = findPart(html);
	const main = part && readPart(html, url, part);
	if (main !== undefined && main.text.length >= enough) return main;
	const body = readPart(html, url, 'body');
	// A short main part may be all there is, or what a script would fill.
	if (main !== undefined && main.text !== '' && main.text.length * 10 >= body.text.length) return main;
	return body.text === '' ? readPart(html, url, 'all') : body;
}

function findPart(html: string): Part | undefined {
	if (/<main\b|role=["']?main\b/i.test(html)) return 'main';
	// Several articles are a list, and all of it counts.
	return html.match(/<article\b/gi)?.length === 1 ? 'article' : undefined;
}

function readPart(html: string, url: URL, part: Part): PageText {
	const page = new Page(url, part);
	const parser = new Parser({
		onopentag: (name, attributes) => page.open(name, attributes),
		ontext: (text) => page.addText(text),
		onclosetag: () => page.close(),
	});
	parser.end(html);
	return page.finish();
}
