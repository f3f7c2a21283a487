/** What went wrong in a chat, with the button that helps. */

import { ClientError } from '../../client/index.ts';
import { createFailure } from '../parts/failure.ts';

interface Ways {
	/** Whether to open the chat again may help. */
	readonly mayPass: boolean;
	readonly again: () => void;
	/** Begins another chat: this one is gone. */
	readonly leave: () => void;
}

export function createChatFailure(error: unknown, { mayPass, again, leave }: Ways): HTMLElement {
	const isGone = error instanceof ClientError && error.code === 'not_found';
	if (mayPass) return createFailure(error, again, { label: 'Try again', onClick: again });
	return createFailure(error, again, isGone ? { label: 'New chat', onClick: leave } : undefined);
}
