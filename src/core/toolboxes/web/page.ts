import { createFieldError, type RunletError } from '../../base/errors.ts';
import { truncateText } from '../../base/text.ts';
import type { StepCounter, Steps } from '../../base/work.ts';
import type { Block } from './blocks.ts';
import { readSpan } from './blocks.ts';
import { Parser } from './libraries.ts';
import type { Mark } from './line.ts';
import { Outline } from './outline.ts';

/** The part of a page to read: one element, the body without navigation and sidebars, or everything. */
type Part = 'main' | 'article' | 'body' | 'all';

/** The visible text of a page. */
interface PageText {
	readonly title?: string;
	/** Markdown with absolute links. */
	readonly text: string;
}

/** The number of characters that are parsed between two yields. */
const pieceLength = 8_192;
/** The cost of a character and the cost of a tag, in steps. */
const [perCharacter, perTag] = [5, 500];
/** A main part with fewer characters is possibly not the real text, so it is compared with the body. */
const enough = 200;

/**
 * Reads the main part of a page if it is marked, else the body without navigation and footers. Leaves out scripts,
 * forms and hidden elements. The work is linear in the length of the page. Throws `invalid_argument` for a page whose
 * tags are nested too deep.
 */
export function* readHtml(html: string, url: URL, work: StepCounter): Steps<PageText> {
	const part = findPart(html);
	const main = part && (yield* readPart(html, url, part, work));
	if (main !== undefined && main.text.length >= enough) return main;
	const body = yield* readPart(html, url, 'body', work);
	// A short main part is either the whole text, or only a container that a script fills.
	if (main !== undefined && main.text !== '' && main.text.length * 10 >= body.text.length) return main;
	return body.text === '' ? yield* readPart(html, url, 'all', work) : body;
}

function findPart(html: string): Part | undefined {
	if (/<main\b|role=["']?main\b/i.test(html)) return 'main';
	// If there are several articles, the page is a list of articles, so read it as a whole.
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

/** What a tag has opened: a block, a mark, or a block with bold text. */
type Opened = 'block' | 'mark' | 'bold' | undefined;

type Attributes = Readonly<Record<string, string>>;

/** The maximum depth of nested tags. Browsers stop at 512. */
const mostLevels = 500;
const longestUrl = 2_000;
/** The maximum length of a title or a description in characters. */
const longestLine = 300;

/** Elements whose text is left out. */
const dropped: ReadonlySet<string> = new Set([
	...['script', 'style', 'template', 'svg', 'canvas', 'object', 'embed'],
	...['noframes', 'noembed', 'button', 'select', 'option', 'input', 'textarea', 'datalist', 'keygen'],
]);
/** Elements that are not part of the main text, unless they are inside an article. */
const besides: ReadonlySet<string> = new Set(['nav', 'footer', 'aside']);
const besidesByRole: ReadonlySet<string> = new Set(['navigation', 'contentinfo', 'complementary', 'search']);
/** Inline elements without a markdown form. All other unknown elements become boxes. */
const inline: ReadonlySet<string> = new Set([
	...[
		'a',
		'abbr',
		'acronym',
		'bdi',
		'bdo',
		'big',
		'cite',
		'data',
		'dfn',
		'font',
		'ins',
		'label',
		'mark',
		'math',
		'nobr',
	],
	...['output', 'q', 'rb', 'rp', 'rt', 'ruby', 'slot', 'small', 'span', 'sub', 'sup', 'time', 'u', 'var', 'wbr'],
]);
const marks: Readonly<Record<string, Exclude<Mark['type'], 'link'>>> = {
	...{ b: 'strong', strong: 'strong', i: 'emphasis', em: 'emphasis', del: 'delete', s: 'delete', strike: 'delete' },
	...{ code: 'inlineCode', kbd: 'inlineCode', samp: 'inlineCode', tt: 'inlineCode' },
};

/** Handles the tags of a page one by one, and collects the visible text. */
class Page {
	readonly #part: Part;
	readonly #outline = new Outline();
	/** What each open tag has opened. */
	readonly #open: Opened[] = [];
	#base: URL;
	#hasBase = false;
	#title: string | undefined;
	/** The depth of each open tag that changes how its content is read. */
	#levels: { dropped?: number; part?: number; title?: number; article?: number; head?: number } = {};

	constructor(url: URL, part: Part) {
		this.#base = url;
		this.#part = part;
		if (part === 'body' || part === 'all') this.#levels.part = 0;
	}

	/** Handles a start tag. The parser calls `close` for each tag, even without an end tag. */
	open(name: string, attributes: Attributes): void {
		const level = this.#open.push(undefined);
		if (level > mostLevels) throw createTooDeep();
		const { dropped: isDropped, title } = this.#levels;
		if (isDropped !== undefined || title !== undefined) return;
		if (name === 'base' && !this.#hasBase) this.#setBase(attributes.href);
		if (name === 'title' && this.#title === undefined) {
			this.#title = '';
			this.#levels.title = level;
		} else if (name === 'title' || this.#isLeftOut(name, attributes)) {
			this.#levels.dropped = level;
		} else if (this.#levels.part !== undefined || this.#isPart(name, attributes)) {
			this.#levels.part ??= level;
			if (name === 'article' || name === 'main') this.#levels.article ??= level;
			if (name === 'thead') this.#levels.head ??= level;
			this.#add(name, attributes);
		}
	}

	addText(text: string): void {
		const { dropped: isDropped, part, title } = this.#levels;
		if (title !== undefined) this.#title = truncateText(`${this.#title}${text}`, 10 * longestLine);
		else if (isDropped === undefined && part !== undefined) this.#outline.addText(text);
	}

	close(): void {
		const level = this.#open.length;
		const opened = this.#open.pop();
		if (opened === 'mark' || opened === 'bold') this.#outline.closeMark();
		if (opened === 'block' || opened === 'bold') this.#outline.closeBlock();
		for (const which of ['dropped', 'part', 'title', 'article', 'head'] as const)
			if (this.#levels[which] === level) delete this.#levels[which];
	}

	finish(): PageText {
		const title = toLine(this.#title ?? '');
		return { ...(title !== '' && { title }), text: this.#outline.finish() };
	}

	#isPart(name: string, { role }: Attributes): boolean {
		return name === this.#part || (this.#part === 'main' && role === 'main');
	}

	#isLeftOut(name: string, { hidden, style = '', role = '', class: classes = '', ...rest }: Attributes): boolean {
		if (dropped.has(name) || (name === 'dialog' && rest.open === undefined)) return true;
		if (hidden !== undefined && hidden !== 'until-found') return true;
		if (rest['aria-hidden'] === 'true' || /display:\s*none|visibility:\s*hidden/i.test(style)) return true;
		// Leave out a link that is only the anchor of a heading.
		if (name === 'a' && /\b(?:anchor|headerlink|hash-link|permalink)\b/.test(classes)) return true;
		const isBeside = besides.has(name) || besidesByRole.has(role);
		return isBeside && this.#part === 'body' && this.#levels.article === undefined;
	}

	#add(name: string, attributes: Attributes): void {
		if (name === 'br') this.#outline.addBreak();
		else if (name === 'hr') this.#outline.addRule();
		else if (name === 'img' || name === 'image') this.#addImage(attributes);
		else if (name === 'frame' || name === 'iframe') this.#addFrame(attributes);
		else this.#open[this.#open.length - 1] = this.#addElement(name, attributes);
	}

	/** Opens a block or a mark. Returns what was opened, for `close`. */
	#addElement(name: string, attributes: Attributes): Opened {
		const mark = this.#readMark(name, attributes);
		if (mark !== undefined) this.#outline.openMark(mark);
		if (mark !== undefined) return 'mark';
		if (inline.has(name) || name.includes('-')) return undefined;
		this.#outline.openBlock(readBlock(name, attributes, this.#levels.head !== undefined));
		if (name !== 'dt' && name !== 'caption') return 'block';
		this.#outline.openMark({ type: 'strong' });
		return 'bold';
	}

	/** Adds a link to the page that a frame shows. */
	#addFrame({ src, title = '' }: Attributes): void {
		this.#levels.dropped = this.#open.length;
		const url = this.#resolve(src);
		if (url === undefined) return;
		this.#outline.openBlock({ type: 'box' });
		this.#outline.openMark({ type: 'link', url });
		this.#outline.addText(`Frame: ${toLine(title) || url}`);
		this.#outline.closeMark();
		this.#outline.closeBlock();
	}

	/** Adds an image with its description. Skips an image without a description. */
	#addImage({ src, alt = '' }: Attributes): void {
		const description = toLine(alt);
		const url = this.#resolve(src);
		if (description === '') return;
		if (url === undefined) this.#outline.addText(description);
		else this.#outline.addImage(url, description);
	}

	#readMark(name: string, { href, class: classes = '' }: Attributes): Mark | undefined {
		if (name === 'a') {
			const url = this.#resolve(href);
			return url === undefined ? undefined : { type: 'link', url };
		}
		const type = Object.hasOwn(marks, name) ? marks[name] : undefined;
		if (type === 'inlineCode') this.#outline.setLanguage(/\blanguage-([\w+#.-]+)/.exec(classes)?.[1]);
		return type && { type };
	}

	#setBase(href: string | undefined): void {
		if (href === undefined) return;
		this.#hasBase = true;
		if (URL.canParse(href, this.#base)) this.#base = new URL(href, this.#base);
	}

	/** Makes an address absolute. Returns `undefined` if it is neither a web address nor a mail address. */
	#resolve(address: string | undefined): string | undefined {
		if (address === undefined || address.length > longestUrl || !URL.canParse(address, this.#base)) return undefined;
		const { href, protocol } = new URL(address, this.#base);
		return /^(https?|mailto):$/.test(protocol) && href.length <= longestUrl ? href : undefined;
	}
}

function readBlock(name: string, { start, colspan, rowspan }: Attributes, isHead: boolean): Block {
	if (/^h[1-6]$/.test(name)) return { type: 'heading', depth: toDepth(name) };
	switch (name) {
		case 'ul':
		case 'menu':
		case 'dir':
			return { type: 'list' };
		case 'ol':
			return { type: 'list', start: /^\d{1,9}$/.test(start ?? '') ? Number(start) : 1 };
		case 'li':
			return { type: 'item' };
		case 'blockquote':
			return { type: 'quote' };
		case 'pre':
		case 'listing':
		case 'xmp':
		case 'plaintext':
			return { type: 'code' };
		case 'table':
			return { type: 'table' };
		case 'caption':
			return { type: 'caption' };
		case 'tr':
			return { type: 'row' };
		case 'td':
		case 'th':
			return { type: 'cell', isHead: isHead || name === 'th', columns: readSpan(colspan), rows: readSpan(rowspan) };
		default:
			return { type: 'box' };
	}
}

function toDepth(name: string): 1 | 2 | 3 | 4 | 5 | 6 {
	const depths = { h1: 1, h2: 2, h3: 3, h4: 4, h5: 5 } as const;
	return name === 'h1' || name === 'h2' || name === 'h3' || name === 'h4' || name === 'h5' ? depths[name] : 6;
}

function toLine(text: string): string {
	return truncateText(text.replace(/\s+/g, ' ').trim(), longestLine);
}

function createTooDeep(): RunletError {
	return createFieldError(
		'invalid_argument',
		'url',
		`the page nests more than ${mostLevels} levels deep and cannot be read. Read another page.`,
	);
}
