import type { Caller } from '../truth.ts';
import type { Answer, Walk } from '../walk.ts';

interface A2aAnswer extends Answer {
	readonly result?: { readonly task?: { readonly id: string }; readonly tasks?: readonly { readonly id: string }[] };
}

const statuses: Readonly<Record<string, number>> = {
	not_found: 404,
	forbidden: 403,
	conflict: 409,
	invalid_request: 400,
};

/** Calls a method of A2A. The answer has the status that the same failure has over HTTP. */
export async function askA2a(
	walk: Walk,
	caller: Caller,
	method: string,
	params: object,
	more: object = {},
): Promise<A2aAnswer> {
	const body = { jsonrpc: '2.0', id: 1, method, params };
	const answer = await walk.ask(caller, '/v1/a2a/walker', { body, ...more });
	const { result, error } = JSON.parse(answer.text);
	const code = error?.data[0].metadata.code;
	return { ...answer, status: answer.status === 200 ? (statuses[code] ?? answer.status) : answer.status, result };
}
