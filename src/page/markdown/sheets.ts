/** The sheets on which the blocks of a long text stand. The first has no element of its own. */

import { element } from '../parts/element.ts';
import type { KeptBlocks } from './kept-blocks.ts';

/** The characters after which a sheet is full, about. */
const sheetLength = 2_500;

export function createSheets(root: HTMLElement) {
	let sheet = root;
	let filled = 0;

	function turn(): void {
		if (filled < sheetLength) return;
		sheet = root.appendChild(element('div', 'sheet'));
		filled = 0;
	}

	return {
		/** The one that is filled. */
		get newest(): Element {
			return sheet;
		},

		/**
		 * Leaves complete blocks where they are, or on the next sheets. `open` follow them: one that grows is moved while it is
		 * short.
		 */
		fill(complete: KeptBlocks, open: KeptBlocks): void {
			const first = sheet;
			for (const { raw, nodes } of complete) {
				turn();
				if (sheet !== first) sheet.append(...nodes);
				filled += raw.length;
			}
			if (open.length > 0) turn();
			if (sheet !== first) for (const { nodes } of open) sheet.append(...nodes);
		},
	};
}
