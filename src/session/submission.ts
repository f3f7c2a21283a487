import { type Message, type ToolMessage, toolResultMessage } from '../chat/index.ts';
import { openCalls } from '../chat/message.ts';
import { RunletError } from '../errors.ts';
import type { Tool } from '../tool/index.ts';
import type { Submission } from './api.ts';

/**
 * Results from outside as messages of the turn that asked for them, and whether no call is open after them. Throws
 * `conflict` for a call that has its answer, `invalid_request` for one that was never asked, before anything changes.
 */
export function submitted(
	turn: readonly Message[],
	results: readonly Submission[],
): { readonly messages: readonly ToolMessage[]; readonly isLast: boolean } {
	const open = new Set(openCalls(turn).map(({ id }) => id));
	const left = new Set(open);
	for (const { id } of results) {
		if (left.delete(id)) continue;
		const asked = turn.some(({ role, ...message }) => role === 'assistant' && asks(message, id));
		if (open.has(id)) throw refused('invalid_request', `id: "${id}" is answered twice here.`);
		if (asked) throw refused('conflict', `id: "${id}" is answered already, and the first answer counts.`);
		throw refused('invalid_request', `id: no call "${id}" waits for a result. Open: ${[...open].join(', ')}.`);
	}
	const messages = results.map(({ id, output, isError = false }) => toolResultMessage({ id, output, isError }));
	return { messages, isLast: left.size === 0 };
}

/**
 * What is said to the model about calls that a run had begun, or might have, when it failed: nobody knows what came of
 * them, so they are not run again, but for those of tools that may be. Calls that wait for somebody go on waiting.
 */
export function unknownResults(turn: readonly Message[], tools: readonly Tool[]): readonly ToolMessage[] {
	const output =
		'The run was cut off, so it is not known whether this call was carried out. Look before you call it again.';
	return openCalls(turn).flatMap(({ id, name }) => {
		const tool = tools.find((one) => one.name === name);
		const mayHaveRun = tool?.fn !== undefined && tool.manual !== true && tool.retry !== 'safe';
		return mayHaveRun ? [toolResultMessage({ id, output, isError: true })] : [];
	});
}

function asks(message: object, id: string): boolean {
	return 'toolCalls' in message && Array.isArray(message.toolCalls) && message.toolCalls.some((call) => call.id === id);
}

function refused(code: string, message: string): RunletError {
	return new RunletError(code, message, { field: 'id' });
}
