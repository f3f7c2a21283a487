import type { StepCounter, Steps } from '../../base/work.ts';
import { Parser } from './libraries.ts';
import { Page, type PageText, type Part } from './page.ts';

/** The characters between two yields. */
const pieceLength = 8_192;
/** The steps for a character, and for a tag. */
const [perCharacter, perTag] = [5, 500];
/** The least characters of a main part that is used without a comparison. */
const enough = 200;

/**
 * Reads a page: its main part if it is marked, else the body without navigation and footers. Leaves out scripts, forms
 * and hidden elements. The work is linear in the length of the page. Throws `invalid_argument` for a page that nests
 * too deep.
 */
export function* readHtml(html: string, url: URL, work: StepCounter): Steps<PageText> {
	const part = findPart(html);
	const main = part && (yield* readPart(html, url, part, work));
	if (main !== undefined && main.text.length >= enough) return main;
	const body = yield* readPart(html, url, 'body', work);
	// A short main part may be the whole text, or a container for a script.
	if (main !== undefined && main.text !== '' && main.text.length * 10 >= body.text.length) return main;
	return body.text === '' ? yield* readPart(html, url, 'all', work) : body;
}

function findPart(html: string): Part | undefined {
	if (/<main\b|role=["']?main\b/i.test(html)) return 'main';
	// Several articles are a list, which is read as a whole.
	return html.match(/<article\b/gi)?.length === 1 ? 'article' : undefined;
}

function* readPart(html: string, url: URL, part: Part, work: StepCounter): Steps<PageText> {
	const page = new Page(url, part);
	let tags = 0;
	const parser = new Parser({
		onopentag: (name, attributes) => {
			tags++;
			page.open(name, attributes);
		},
		ontext: (text) => page.addText(text),
		onclosetag: () => page.close(),
	});
	for (let at = 0; at < html.length; at += pieceLength) {
		const piece = html.slice(at, at + pieceLength);
		parser.write(piece);
		if (work.spend(perCharacter * piece.length + perTag * tags)) yield;
		tags = 0;
	}
	parser.end();
	return page.finish();
}
