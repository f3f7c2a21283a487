/** Draws what stands in a line. What is not known here, or not allowed, stays as it was written. */

import { type MarkdownToken, toKnown } from '../../client/markdown.ts';
import { element } from '../parts/element.ts';
import { createLink } from './link.ts';

export function createInline(tokens: readonly MarkdownToken[]): ChildNode[] {
	return tokens.map(createOne);
}

function createOne(token: MarkdownToken): ChildNode {
	switch (token.type) {
		case 'strong':
		case 'em':
		case 'del':
			return element(token.type, '', ...createInline(toKnown(token.tokens)));
		case 'codespan':
			return element('code', '', token.text);
		case 'verbatim':
			return element('span', 'verbatim', token.raw);
		case 'checkbox':
			return new Text('');
		case 'br':
			return new Text('\n');
		case 'escape':
			return new Text(token.text);
		case 'link':
			return createLink(token.href, createInline(toKnown(token.tokens))) ?? new Text(token.raw);
		default:
			return new Text(token.raw);
	}
}
