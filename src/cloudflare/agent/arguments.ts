import { RunletError } from '../../core/base/errors.ts';
import type { Tool, ToolCall } from '../../core/tool/index.ts';
import { readArguments } from '../../core/tool/invoke.ts';

/**
 * Checks the arguments that a person puts in the place of a model's, as the tool of the call does. Throws `invalid_request`,
 * which names the field.
 */
export async function assertArguments(tool: Tool | undefined, { name, input }: ToolCall): Promise<void> {
	if (tool === undefined) throw createRefusal('', `there is no tool named ${name} any more, so nothing can check them`);
	const read = await readArguments(tool, input);
	if (read.ok) return;
	const [issue = ''] = read.error.message.split('\n');
	const [, path = '', why] = /^([^\s:]+): (.*)$/.exec(issue) ?? [];
	throw createRefusal(path, why ?? issue);
}

function createRefusal(path: string, why: string): RunletError {
	const field = path === '' ? 'input' : `input.${path}`;
	return new RunletError('invalid_request', `${field}: ${why}`, { field });
}

/** The longest arguments that a person is asked about, in characters of their JSON. Nobody decides about what is not shown. */
const longestInput = 20_000;

/** Whether the arguments of a call are too long to be shown to a person whole. */
export function isTooLongToShow(input: unknown): boolean {
	return (JSON.stringify(input) ?? '').length > longestInput;
}

/** Creates the error for a decision about such a call that a link or a form would ask for. */
export function createTooLongToShow(field: string): RunletError {
	const message = `${field}: more than ${longestInput} characters, which is too long to be shown. Decide in the session.`;
	return new RunletError('too_large', message, { field });
}
