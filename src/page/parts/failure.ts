/** The message of a failed request, with a remedy such as a retry. */

import { isTransient } from '../../client/error.ts';
import { ClientError } from '../../client/index.ts';
import { say, sayOr } from '../../client/say.ts';
import { button, configure, element } from './element.ts';

interface Remedy {
	readonly label: string;
	readonly onClick: () => void;
}

function describeFailure(error: unknown): string {
	if (!(error instanceof ClientError)) return say('The page met an error of its own. A reload may help.');
	const unreachable = 'The server does not answer. Is it running, and is this device online?';
	return sayOr(error.code, error.code === 'unreachable' ? unreachable : error.message);
}

/** `again` repeats the failed action. */
export function createFailure(error: unknown, again: () => void, remedy?: Remedy): HTMLElement {
	const box = configure(element('div', 'failure', element('p', '', describeFailure(error))), { role: 'alert' });
	if (remedy !== undefined) box.append(button('retry', remedy.label, remedy.onClick));
	else if (isTransient(error)) box.append(button('retry', say('Try again'), again));
	return box;
}
