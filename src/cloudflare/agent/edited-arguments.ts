import { RunletError } from '../../core/ground/errors.ts';
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
