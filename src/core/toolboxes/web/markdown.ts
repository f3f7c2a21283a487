import type { Root } from 'mdast';
import type { Handle } from 'mdast-util-to-markdown';
import { gfmTableToMarkdown, toMarkdown } from './libraries.ts';

/** Writes a tree as markdown for a reader, not for a renderer: text is not escaped, except `|` within a cell. */
export function writeMarkdown(tree: Root): string {
	return toMarkdown(tree, {
		bullet: '-',
		extensions: [gfmTableToMarkdown({ tablePipeAlign: false }), { handlers }],
	}).trim();
}

const handlers: Readonly<Record<string, Handle>> = {
	text: ({ value }, _, { stack }) => (stack.includes('tableCell') ? value.replaceAll('|', '\\|') : value),
	break: () => '\n',
	link: (node, _, state, info) => {
		const text = state.containerPhrasing(node, { ...info, before: '[', after: ']' });
		return mark(text, (inner) => `[${inner}](${toDestination(node.url)})`);
	},
	image: ({ alt, url }) => `![${alt}](${toDestination(url)})`,
	strong: (node, _, state, info) =>
		mark(state.containerPhrasing(node, { ...info, before: '*', after: '*' }), (inner) => `**${inner}**`),
	emphasis: (node, _, state, info) =>
		mark(state.containerPhrasing(node, { ...info, before: '_', after: '_' }), (inner) => `_${inner}_`),
	delete: (node, _, state, info) =>
		mark(state.containerPhrasing(node, { ...info, before: '~', after: '~' }), (inner) => `~~${inner}~~`),
};

/** Marks a text within the blanks around it. */
function mark(text: string, write: (inner: string) => string): string {
	const inner = text.trim();
	if (inner === '') return text;
	const from = text.indexOf(inner);
	return `${text.slice(0, from)}${write(inner)}${text.slice(from + inner.length)}`;
}

function toDestination(url: string): string {
	const plain = url.replaceAll('|', '%7C');
	return /[()]/.test(plain) ? `<${plain}>` : plain;
}
