/** A failed request in words, with what a person can do about it. */

import { isTransient } from '../../client/error.ts';
import { ClientError } from '../../client/index.ts';
import { button, element } from './element.ts';
import { createKeyForm } from './key.ts';

export interface Remedy {
	readonly label: string;
	readonly onClick: () => void;
}

/** Says what went wrong. */
function describeFailure(error: unknown): string {
	if (!(error instanceof ClientError)) return 'The page met an error of its own. A reload may help.';
	if (error.code !== 'unreachable') return error.message;
	return 'The server does not answer. Is it running, and is this device online?';
}

/** Makes the box of a failure. `again` does once more what failed; a server that asks for a key gets a form for it. */
export function createFailure(error: unknown, again: () => void, remedy?: Remedy): HTMLElement {
	const box = element('div', 'failure', element('p', '', describeFailure(error)));
	box.setAttribute('role', 'alert');
	if (error instanceof ClientError && error.status === 401) box.append(createKeyForm(again));
	else if (remedy !== undefined) box.append(button('retry', remedy.label, remedy.onClick));
	else if (isTransient(error)) box.append(button('retry', 'Try again', again));
	return box;
}
