import { type RunletError, toErrorHeaders, toRunletError } from '../../../../core/base/errors.ts';
import type { RunEvent } from '../../../../core/chat/index.ts';
import type { Protocol } from '../protocol.ts';

/** The events in the answer to an MCP client. */
const kinds = ['run.started', 'tool_use_start', 'note', 'step', 'done', 'awaiting', 'halted', 'cancelled', 'error'];

/** Writes each event as a line of JSON. The Worker turns the lines into messages of MCP. */
export const runLines: Protocol = {
	isSame: true,
	writer: () => ({
		event: (event: RunEvent) => (kinds.includes(event.type) ? `${JSON.stringify(event)}\n` : ''),
		end: () => '',
	}),
};

/** Returns the HTTP status and a JSON-RPC error. */
export function mcpFailure(thrown: unknown): Response {
	const error = toRunletError(thrown);
	const { code, message, data, status } = error;
	return Response.json(
		{ jsonrpc: '2.0', id: null, error: { code: toRpcCode(error), message, data: { ...data, code } } },
		{ status, headers: toErrorHeaders(error) },
	);
}

/** Returns the code of JSON-RPC 2.0, 5.1. The error's own code is in its data. */
function toRpcCode({ code, status, data }: RunletError): number {
	if (code === 'invalid_request') return data?.field === 'body' ? -32_700 : -32_600;
	return status >= 500 ? -32_603 : -32_000;
}
