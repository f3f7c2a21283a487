/**
 * A little Markdown, drawn while it streams in: paragraphs, headings, lists, code, bold, italics, http(s) links.
 * What it does not know stays text; images and HTML do too.
 */

import { element, withoutTurns } from '../parts/element.ts';

/** An element that further lines may join. */
interface Block {
	readonly kind: 'p' | 'ul' | 'ol' | 'pre';
	readonly element: HTMLElement;
}

interface Placed {
	/** What the line added to the page. */
	readonly nodes: readonly ChildNode[];
	/** Where further text of the same line goes. */
	readonly end: ParentNode | undefined;
	readonly block: Block | undefined;
}

/** Past so many characters the line that is still open is only appended to, so that its cost stays linear. */
const redrawLimit = 2_000;

export function createMarkdown(root: HTMLElement) {
	let line = '';
	let unseen = '';
	let block: Block | undefined;
	let draft: Placed | undefined;

	function undraw() {
		for (const node of draft?.nodes ?? []) node.remove();
		draft = undefined;
	}

	function commit() {
		undraw();
		block = place(root, block, line).block;
		line = '';
		unseen = '';
	}

	return {
		/** Takes text in; `flush` shows it. */
		write(text: string) {
			const [first = '', ...rest] = withoutTurns(text).replaceAll('\r', '').split('\n');
			line += first;
			unseen += first;
			for (const next of rest) {
				commit();
				line = next;
				unseen = next;
			}
		},

		flush() {
			if (unseen === '') return;
			if (draft?.end && line.length > redrawLimit) {
				draft.end.append(unseen);
			} else {
				undraw();
				draft = place(root, block, line);
			}
			unseen = '';
		},

		end() {
			if (line !== '') commit();
		},
	};
}

/** Adds one line to the page. `block` is the one that is open. */
function place(root: HTMLElement, block: Block | undefined, line: string): Placed {
	const fence = /^\s*(?:```|~~~)\s*([\w+#.-]*)/.exec(line);
	if (block?.kind === 'pre') {
		if (fence) return { nodes: [], end: undefined, block: undefined };
		const text = new Text(`${block.element.hasChildNodes() ? '\n' : ''}${line}`);
		block.element.append(text);
		return { nodes: [text], end: block.element, block };
	}
	if (fence) {
		const code = element('code');
		const pre = element('pre', 'code', code);
		root.append(pre);
		return { nodes: [pre], end: undefined, block: { kind: 'pre', element: code } };
	}
	if (line.trim() === '') return { nodes: [], end: undefined, block: undefined };
	return placeHeading(root, line) ?? placeItem(root, block, line) ?? placeProse(root, block, line);
}

function placeHeading(root: HTMLElement, line: string): Placed | undefined {
	const text = /^#{1,6}\s+(.*)/.exec(line)?.[1];
	if (text === undefined) return undefined;
	const heading = element('h3', '', ...inline(text));
	root.append(heading);
	return { nodes: [heading], end: heading, block: undefined };
}

function placeItem(root: HTMLElement, block: Block | undefined, line: string): Placed | undefined {
	const [, indent = '', mark = '', text] = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)/.exec(line) ?? [];
	if (text === undefined) return undefined;
	const item = element('li', indent.length > 1 ? 'nested' : '', ...inline(text));
	const number = Number.parseInt(mark, 10);
	if (!Number.isNaN(number)) item.value = number;
	const kind = Number.isNaN(number) ? 'ul' : 'ol';
	if (block?.kind === kind) {
		block.element.append(item);
		return { nodes: [item], end: item, block };
	}
	const list = element(kind, '', item);
	root.append(list);
	return { nodes: [list], end: item, block: { kind, element: list } };
}

function placeProse(root: HTMLElement, block: Block | undefined, line: string): Placed {
	const parent = block?.kind === 'p' ? block.element : /^\s/.test(line) && block?.element.lastElementChild;
	if (block && parent) {
		const nodes = [new Text('\n'), ...inline(line.trim())];
		parent.append(...nodes);
		return { nodes, end: parent, block };
	}
	const paragraph = element('p', '', ...inline(line));
	root.append(paragraph);
	return { nodes: [paragraph], end: paragraph, block: { kind: 'p', element: paragraph } };
}

/** Repetitions are bounded, so that a line of opening brackets is read in linear time; `2*3*4` is not italic. */
const marks =
	/`(?<code>[^`]{1,500})`|(?<!\w)\*\*(?<bold>[^*\s](?:[^*]{0,498}[^*\s])?)\*\*(?!\w)|(?<![\w*])\*(?<italic>[^*\s](?:[^*]{0,498}[^*\s])?)\*(?![\w*])|(?<image>!\[[^\]]{0,300}\]\([^)]{0,1000}\))|\[(?<label>[^\]]{1,300})\]\((?<href>https?:\/\/[^\s()]{1,1000})\)|(?<url>https?:\/\/[^\s<>()"'`*]{0,999}[^\s<>()"'`*.,;:!?])/g;

function inline(text: string): ChildNode[] {
	const nodes = [];
	let from = 0;
	for (const match of text.matchAll(marks)) {
		const { code, bold, italic, label, href, url } = match.groups ?? {};
		if (match.index > from) nodes.push(new Text(text.slice(from, match.index)));
		from = match.index + match[0].length;
		if (code !== undefined) nodes.push(element('code', '', code));
		else if (bold !== undefined) nodes.push(element('strong', '', bold));
		else if (italic !== undefined) nodes.push(element('em', '', italic));
		else if (href !== undefined) nodes.push(link(href, label ?? href) ?? new Text(match[0]));
		else if (url !== undefined) nodes.push(link(url, url) ?? new Text(url));
		else nodes.push(new Text(match[0]));
	}
	if (from < text.length) nodes.push(new Text(text.slice(from)));
	return nodes;
}

/**
 * Makes a link whose title is where it leads, as the browser reads it; its text says so, too, where it names another host.
 * Gives `undefined` for what is no URL, and for a URL with a user, which looks like another host.
 */
function link(href: string, label: string) {
	const to = URL.canParse(href) ? new URL(href) : undefined;
	if (to === undefined || to.username !== '' || to.password !== '') return undefined;
	const anchor = element('a', '', namesAnotherHost(label, to) ? `${label} (${to.host})` : label);
	anchor.href = href;
	anchor.title = to.href;
	anchor.target = '_blank';
	anchor.rel = 'noopener noreferrer nofollow';
	return anchor;
}

/** A point, a colon, a slash or an at sign within words, as hosts and addresses have them; `3002` is the ideographic full stop. */
const hostSign = /[^\s.,:;/][.\u3002:/@\\]+[^\s.,:;]|localhost/u;

/** Whether a label may be read as an address that is not the link's own. Compared is what a reader sees: letters as they look (NFKC), and nothing that has no width. */
function namesAnotherHost(label: string, { protocol, host }: URL) {
	const seen = label
		.normalize('NFKC')
		.replace(/[\p{Cf}\p{Mn}\p{Cc}]/gu, '')
		.toLowerCase()
		.trim();
	if (!hostSign.test(seen)) return false;
	const rest = [`${protocol}//${host}`, host].find((own) => seen.startsWith(own));
	// Behind the own host may only stand a port or a path, and in them no second address.
	return rest === undefined || !/^(?::\d+)?(?:[/?#][^\s]*)?$/.test(seen.slice(rest.length));
}
