/** Saves what the page has as a file of the reader's. */

import { element } from './element.ts';

let last: string | undefined;

/**
 * Saves bytes under a name. They were read by a request, because it may need the key of this tab: a link sends none.
 */
export function save(name: string, bytes: Blob): void {
	if (last !== undefined) URL.revokeObjectURL(last);
	last = URL.createObjectURL(bytes);
	const link = element('a');
	link.href = last;
	link.download = name;
	link.click();
}
