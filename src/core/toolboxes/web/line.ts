import type { Break, Delete, Emphasis, Image, InlineCode, Link, PhrasingContent, Strong, Text } from 'mdast';

/** Formatting of a piece of text. */
export type Mark =
	| { readonly type: 'strong' }
	| { readonly type: 'emphasis' }
	| { readonly type: 'delete' }
	| { readonly type: 'inlineCode' }
	| { readonly type: 'link'; readonly url: string };

export interface LineParent {
	readonly children: PhrasingContent[];
}

type Marked = Strong | Emphasis | Delete | Link | InlineCode;

/** A line of text with marks. A mark can stay open on the next line, because HTML allows headings inside links. */
export class Line {
	/** The open marks. `undefined` is a mark without effect, because it is inside the same mark or in code. */
	readonly #marks: (Mark | undefined)[] = [];
	/** The nodes that the line already has for its open marks. */
	#nodes: Marked[] = [];
	/** Whether the line is empty or ends with a blank. */
	#isBlank = true;
	/** The last text node of the line, to which further text is added. */
	#last: Text | undefined;
	/** Whether to add a blank before the next text. */
	#isApart = false;

	openMark(mark: Mark): void {
		const isIn = this.#marks.some((open) => open?.type === mark.type || open?.type === 'inlineCode');
		this.#marks.push(isIn ? undefined : mark);
	}

	closeMark(): void {
		this.#marks.pop();
		this.#nodes = this.#nodes.slice(0, this.#listMarks().length);
	}

	/** Ends the line. A blank at the end is left out. */
	end(): void {
		if (this.#last !== undefined) this.#last.value = this.#last.value.trimEnd();
		this.#last = undefined;
		this.#nodes = [];
		this.#isBlank = true;
		this.#isApart = false;
	}

	/** Adds a blank before the next text. */
	separate(): void {
		this.#isApart = true;
	}

	/** Adds text, and collapses its blanks. Returns the number of new nodes. */
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

	/** Adds a break or an image. Returns the number of new nodes. */
	addNode(child: Break | Image, line: LineParent): number {
		const { node, added } = this.#openNodes(line);
		this.#last = undefined;
		this.#isBlank = child.type === 'break';
		this.#isApart = false;
		if (node?.type === 'inlineCode') return added;
		(node ?? line).children.push(child);
		return added + 1;
	}

	/** Adds the missing nodes of the open marks to the line. Returns the innermost node and the number of new nodes. */
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
