import { createFieldError, type RunletError } from '../../core/base/errors.ts';
import type { Tool, ToolCall } from '../../core/tool/index.ts';
import { readArguments } from '../../core/tool/invoke.ts';

/** Checks a person's changed arguments by the rules for a model's. Throws `invalid_request`, which names the field. */
export async function assertArguments(tool: Tool | undefined, { name, input }: ToolCall): Promise<void> {
	if (tool === undefined) throw createRefusal('', `there is no tool named ${name} any more, so nothing can check them`);
	const read = await readArguments(tool, input);
	if (read.ok) return;
	const [issue = ''] = read.error.message.split('\n');
	const [, path = '', why] = /^([^\s:]+): (.*)$/.exec(issue) ?? [];
	throw createRefusal(path, why ?? issue);
}

function createRefusal(path: string, why: string): RunletError {
	return createFieldError('invalid_request', path === '' ? 'input' : `input.${path}`, why);
}

/** The maximum length of arguments as JSON. Longer arguments cannot be shown whole, so nobody can approve them. */
const longestInput = 20_000;

export function isTooLongToShow(input: unknown): boolean {
	return (JSON.stringify(input) ?? '').length > longestInput;
}

export function createTooLongToShow(field: string): RunletError {
	const message = `more than ${longestInput} characters, which is too long to be shown. Decide in the session.`;
	return createFieldError('too_large', field, message);
}
