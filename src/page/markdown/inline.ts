/** Draws inline Markdown. Unknown and forbidden marks are shown as text. */

import { type MarkdownToken, toKnown } from '../../client/markdown.ts';
import { element, withoutTurns } from '../parts/element.ts';
import { createFootnoteMark } from './footnotes.ts';
import { createFormula } from './formulas.ts';
import { createFileImage } from './images.ts';

export function createInline(tokens: readonly MarkdownToken[]): ChildNode[] {
	return tokens.map(createNode);
}

function createNode(token: MarkdownToken): ChildNode {
	switch (token.type) {
		case 'strong':
		case 'em':
		case 'del':
			return element(token.type, '', ...createInline(toKnown(token.tokens)));
		case 'codespan':
			return element('code', '', token.text);
		case 'verbatim':
			return element('span', 'verbatim', token.raw);
		case 'formula':
			return createFormula('span', token.text, token.raw, token.isBlock);
		case 'footnote':
			return createFootnoteMark(token.label);
		case 'checkbox':
			return new Text('');
		case 'br':
			return new Text('\n');
		case 'escape':
			return new Text(token.text);
		case 'link':
			return createLink(decode(token.href), createInline(toKnown(token.tokens))) ?? new Text(token.raw);
		case 'image':
			return createFileImage(decode(token.href), decode(token.text), token.raw) ?? new Text(token.raw);
		case 'text':
			return new Text(decode(token.raw));
		default:
			return new Text(token.raw);
	}
}

/** The usual names of characters in HTML. */
const characters: Readonly<Record<string, string>> = {
	...{
		amp: '&',
		lt: '<',
		gt: '>',
		quot: '"',
		apos: "'",
		nbsp: '\u00a0',
		ensp: '\u2002',
		emsp: '\u2003',
		thinsp: '\u2009',
		zwnj: '\u200c',
		zwj: '\u200d',
		// Nothing, because they change the direction of text.
		lrm: '',
		rlm: '',
	},
	...{ ndash: '–', mdash: '—', hellip: '…', bull: '•', middot: '·', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”' },
	...{ laquo: '«', raquo: '»', copy: '©', reg: '®', trade: '™', deg: '°', sect: '§', para: '¶', euro: '€', pound: '£' },
	...{ times: '×', divide: '÷', plusmn: '±', minus: '−', ne: '≠', le: '≤', ge: '≥', asymp: '≈', infin: '∞', sum: '∑' },
	...{
		larr: '←',
		uarr: '↑',
		rarr: '→',
		darr: '↓',
		harr: '↔',
		rArr: '⇒',
		check: '✓',
		frac12: '½',
		sup2: '²',
		micro: 'µ',
	},
};

/** Decodes references of HTML to characters, such as `&nbsp;` and `&#8212;`. Others stay as they were written. */
function decode(text: string): string {
	return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z\d]{2,8}));/gi, (reference, decimal, hex, name) => {
		if (name !== undefined) return Object.hasOwn(characters, name) ? (characters[name] ?? '') : reference;
		const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
		// A surrogate is no character.
		return code > 0 && code <= 0x10ffff && code >> 11 !== 0x1b ? withoutTurns(String.fromCodePoint(code)) : '\ufffd';
	});
}

/**
 * Makes a link. Its title is the address as the browser parses it. If the label names another host, the real host is
 * added. Returns undefined for other schemes than HTTP, and for an address with a user name, which looks like a host.
 */
export function createLink(href: string, children: readonly ChildNode[]): HTMLElement | undefined {
	const to = URL.canParse(href) ? new URL(href) : undefined;
	if (to === undefined || !/^https?:$/.test(to.protocol) || to.username !== '' || to.password !== '') return undefined;
	const anchor = element('a', '', ...children);
	if (namesAnotherHost(anchor.textContent, to)) anchor.append(` (${to.host})`);
	anchor.href = href;
	anchor.title = to.href;
	anchor.target = '_blank';
	anchor.rel = 'noopener noreferrer nofollow';
	return anchor;
}

/** A dot, colon, slash or at sign within words, as in hosts and addresses. `3002` is the ideographic full stop. */
const hostSign = /[^\s.,:;/][.\u3002:/@\\]+[^\s.,:;]|localhost/u;

/** Checks the label's visible text: it is normalized (NFKC) and has no invisible characters. */
function namesAnotherHost(label: string, { protocol, host }: URL) {
	const seen = label
		.normalize('NFKC')
		.replace(/[\p{Cf}\p{Mn}\p{Cc}]/gu, '')
		.toLowerCase()
		.trim();
	if (!hostSign.test(seen)) return false;
	const rest = [`${protocol}//${host}`, host].find((own) => seen.startsWith(own));
	// After the link's own host, only a port and a path can follow. They must not contain another address.
	return rest === undefined || !/^(?::\d+)?(?:[/?#][^\s]*)?$/.test(seen.slice(rest.length));
}
