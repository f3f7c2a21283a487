import type { RunEvent } from '../../../../core/chat/index.ts';
import type { Protocol } from '../protocol.ts';

/** The events that an MCP client is told of, or that its answer is made of. */
const kinds = ['run.started', 'tool_use_start', 'note', 'step', 'done', 'awaiting', 'halted', 'cancelled', 'error'];

/** A run as lines of JSON, an event each. The Worker makes messages of MCP of them. */
export const runLines: Protocol = {
	isSame: true,
	writer: () => ({
		event: (event: RunEvent) => (kinds.includes(event.type) ? `${JSON.stringify(event)}\n` : ''),
		end: () => '',
	}),
};
