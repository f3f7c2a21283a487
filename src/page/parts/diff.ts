/** A unified diff on the page: lines that came and went have their colours. */

import { element } from './element.ts';

/** Lines that are shown. */
const mostLines = 2_000;

export function createDiff(text: string): HTMLElement {
	const lines = text.split('\n');
	if (lines.at(-1) === '') lines.pop();
	const shown = lines.slice(0, mostLines).map((line) => element('span', toKind(line), `${line}\n`));
	const rest = lines.length - shown.length;
	return element('pre', 'diff', ...shown, ...(rest > 0 ? [element('span', 'hunk', `… ${rest} more lines`)] : []));
}

function toKind(line: string): string {
	if (/^(\+\+\+|---|@@|diff |new file|deleted file|rename |similarity )/.test(line)) return 'hunk';
	return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '';
}
