import type { Break, Delete, Emphasis, Image, InlineCode, Link, PhrasingContent, Strong, Text } from 'mdast';

/** What is said of a piece of text. */
export type Mark =
	| { readonly type: 'strong' }
	| { readonly type: 'emphasis' }
	| { readonly type: 'delete' }
	| { readonly type: 'inlineCode' }
	| { readonly type: 'link'; readonly url: string };

/** What holds the nodes of a line. */
export interface LineParent {
	readonly children: PhrasingContent[];
}

type Marked = Strong | Emphasis | Delete | Link | InlineCode;

/**
 * A line of text with marks. A mark is in the tree only where it has text, and begins again on the next line if it is
 * still open: HTML puts headings into links, markdown puts links into headings.
 */
export class Line {
	/** The open marks. `undefined` stands for one that adds nothing, because another one says the same. */
	readonly #marks: (Mark | undefined)[] = [];
	/** The nodes of the line for the first of the open marks. */
	#nodes: Marked[] = [];
	/** Whether a blank would add nothing. */
	#isBlank = true;
	/** The text that the line ends with. */
	#last: Text | undefined;
	/** Whether the next text is kept apart. */
	#isApart = false;

	openMark(mark: Mark): void {
		const isIn = this.#marks.some((open) => open?.type === mark.type || open?.type === 'inlineCode');
		this.#marks.push(isIn ? undefined : mark);
	}

	closeMark(): void {
		this.#marks.pop();
		this.#nodes = this.#nodes.slice(0, this.#listMarks().length);
	}

	/** Begins a line. The one before ends without a blank. */
	end(): void {
		if (this.#last !== undefined) this.#last.value = this.#last.value.trimEnd();
		this.#last = undefined;
		this.#nodes = [];
		this.#isBlank = true;
		this.#isApart = false;
	}

	/** Keeps the next text apart by a blank. */
	separate(): void {
		this.#isApart = true;
	}

	/** Adds text with one blank for several. Returns the number of new nodes. */
	addText(text: string, start: () => LineParent): number {
		const collapsed = `${this.#isApart ? ' ' : ''}${text}`.replace(/[\t\n\f\r ]+/g, ' ');
		const kept = this.#isBlank && collapsed.startsWith(' ') ? collapsed.slice(1) : collapsed;
		if (kept === '' || (this.#isApart && kept === ' ')) return 0;
		this.#isApart = false;
		this.#isBlank = kept.endsWith(' ');
		const line = start();
		const { node, added } = kept === ' ' ? { node: this.#nodes.at(-1), added: 0 } : this.#openNodes(line);
		if (node?.type === 'inlineCode') {
			this.#last = undefined;
			node.value += kept;
			return added;
		}
		const { children } = node ?? line;
		const last = children.at(-1);
		if (last?.type === 'text') {
			last.value += kept;
			return added;
		}
		this.#last = { type: 'text', value: kept };
		children.push(this.#last);
		return added + 1;
	}

	/** Adds what is no text. Returns the number of new nodes. */
	addNode(child: Break | Image, line: LineParent): number {
		const { node, added } = this.#openNodes(line);
		this.#last = undefined;
		this.#isBlank = child.type === 'break';
		this.#isApart = false;
		if (node?.type === 'inlineCode') return added;
		(node ?? line).children.push(child);
		return added + 1;
	}

	/** Puts the open marks into the line, and returns the innermost one. */
	#openNodes(line: LineParent): { node: Marked | undefined; added: number } {
		let parent = this.#nodes.at(-1);
		const missing = this.#listMarks().slice(this.#nodes.length);
		for (const mark of missing) {
			const node = createNode(mark);
			if (parent?.type !== 'inlineCode') (parent ?? line).children.push(node);
			this.#nodes.push(node);
			parent = node;
		}
		return { node: parent, added: missing.length };
	}

	#listMarks(): readonly Mark[] {
		return this.#marks.filter((mark) => mark !== undefined);
	}
}

function createNode(mark: Mark): Marked {
	switch (mark.type) {
		case 'inlineCode':
			return { type: mark.type, value: '' };
		case 'link':
			return { type: mark.type, url: mark.url, children: [] };
		default:
			return { type: mark.type, children: [] };
	}
}
