/** A unified diff on the page, with colours for added and removed lines. */

import { say } from '../../client/say.ts';
import { element } from './element.ts';

const mostLines = 2_000;

/** `isNamed`: whether the file's name is shown elsewhere. The diff then starts with the first hunk. */
export function createDiff(text: string, { isNamed = false }: { readonly isNamed?: boolean } = {}): HTMLElement {
	const start = isNamed ? Math.max(0, text.search(/^@@/m)) : 0;
	const lines = text.slice(start).split('\n');
	if (lines.at(-1) === '') lines.pop();
	const shown = lines.slice(0, mostLines).map((line) => element('span', toKind(line), `${line}\n`));
	const rest = lines.length - shown.length;
	return element(
		'pre',
		'diff',
		...shown,
		...(rest > 0 ? [element('span', 'hunk', say('… {count} more lines', { count: rest }))] : []),
	);
}

function toKind(line: string): string {
	if (/^(\+\+\+|---|@@|diff |new file|deleted file|rename |similarity )/.test(line)) return 'hunk';
	return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '';
}
