/** Draws Markdown on the page, and writes it and the HTML of a specification in one form, so that they can be compared. */
import type { JSHandle } from 'playwright-core';

type Module = typeof import('../../src/page/markdown/markdown.ts');

export interface Example {
	readonly markdown: string;
	/** What a specification says. */
	readonly html: string;
}

/**
 * Draws each example, whole or in pieces of `size` characters. Both texts are without what is the page's own: classes, the
 * heads of code, and spaces at the ends of lines.
 */
export function drawAsSpecified(
	module: JSHandle<Module>,
	examples: readonly Example[],
	size = Number.MAX_SAFE_INTEGER,
) {
	return module.evaluate(
		({ createMarkdown }, { examples, size }) => {
			/** Writes a tree as text. */
			function write(node: Node): string {
				if (node instanceof Text) {
					const text = node.parentElement?.closest('pre') ? node.data : node.data.replace(/ *\n */g, '\n');
					return text.replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
				}
				if (!(node instanceof Element) || node.matches('button')) return '';
				if (node.matches('br')) return node.nextSibling?.textContent?.startsWith('\n') ? '' : '\n';
				if (node.matches('.todo > .visually-hidden')) return node.closest('[data-done=true]') ? '[x] ' : '[ ] ';
				if (node instanceof HTMLInputElement) return node.checked ? '[x]' : '[ ]';
				const inner = [...node.childNodes].map(write).join('');
				if (node.matches('div, span')) return inner;
				if (node instanceof HTMLPreElement) return `<pre>${inner.replace(/<\/?code>/g, '').replace(/\n$/, '')}</pre>`;
				if (node instanceof HTMLAnchorElement) return `<a ${decodeURI(node.href)}>${inner}</a>`;
				if (node instanceof HTMLOListElement) return `<ol ${node.start}>${inner}</ol>`;
				if (node instanceof HTMLTableCellElement)
					return `<${node.localName} ${node.align || node.className}>${inner}</${node.localName}>`;
				// A table without rows has no body.
				if (node.matches('tbody') && inner.trim() === '') return '';
				return `<${node.localName}>${inner}</${node.localName}>`;
			}
			const blocks = 'p|li|ul|ol|blockquote|h\\d|hr|pre|table|thead|tbody|tr|th|td';
			const after = new RegExp(`(<(?:${blocks})(?: [^>]*)?>|</(?:${blocks})>)[ \\n]+`, 'g');
			const before = new RegExp(`[ \\n]+(?=</?(?:${blocks.replace('hr|pre|', '')})[ >]|$)`, 'g');
			const toText = (root: Element) =>
				[...root.childNodes]
					.map(write)
					.join('')
					.replace(after, '$1')
					.replace(before, '')
					// The first words of an item have no paragraph.
					.replace(/<li><p>([\s\S]*?)<\/p>/g, '<li>$1');
			return examples.map(({ markdown, html }) => {
				const root = document.createElement('div');
				const writer = createMarkdown(root);
				for (let from = 0; from < markdown.length; from += size) {
					writer.write(markdown.slice(from, from + size));
					writer.flush();
				}
				writer.end();
				const wanted = document.createElement('div');
				// The first two ranks of headings are the page's own.
				wanted.innerHTML = html.replace(
					/(<\/?h)([1-6])>/g,
					(_, head, rank) => `${head}${Math.min(5, Number(rank) + 2)}>`,
				);
				return { shown: toText(root), wanted: toText(wanted) };
			});
		},
		{ examples, size },
	);
}
