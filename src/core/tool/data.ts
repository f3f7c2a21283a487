import { createFieldError, RunletError } from '../base/errors.ts';
import { forAgent } from './define.ts';
import type { Tool } from './tool.ts';

type FunctionName =
	| 'fn'
	| 'targets'
	| 'preview'
	| 'isAvailable'
	| 'readArgs'
	| 'onRequest'
	| 'onResult'
	| 'onError'
	| 'onAnswer';

/** A tool without its functions: plain data that survives JSON. */
export type ToolData = Omit<Tool, FunctionName | 'needsApproval'> & { readonly needsApproval?: boolean };

/** The functions that `attach` adds to a tool: only its handler, or a record of functions. */
export type Handler = Tool['fn'] | Pick<Tool, FunctionName | 'needsApproval'>;

/** Returns the tools as data, without their functions. */
export function toData(tools: readonly Tool[]): ToolData[] {
	return tools.map(
		({
			fn: _,
			isAvailable: __,
			readArgs: ___,
			targets,
			preview,
			onRequest,
			onResult,
			onError,
			onAnswer,
			needsApproval,
			...data
		}) => (typeof needsApproval === 'boolean' ? { ...data, needsApproval } : data),
	);
}

/**
 * Makes tools from data and attaches their functions by name. A tool without a handler acts like a manual tool. Throws
 * `invalid_tool` with the name of the field if the data is not valid, or if a handler has no tool.
 */
export function attach(data: unknown, handlers: Readonly<Record<string, Handler>> = {}): readonly Tool[] {
	if (!Array.isArray(data)) throw createFieldError('invalid_tool', 'data', 'expected a list of tools.');
	const tools = forAgent(data);
	const names = tools.map(({ name }) => name);
	const stray = Object.keys(handlers).find((name) => !names.includes(name));
	if (stray !== undefined) {
		throw new RunletError(
			'invalid_tool',
			`${stray}: a handler for a tool that is not in the data. Known: ${names.join(', ')}.`,
			{ field: stray },
		);
	}
	return forAgent(
		tools.map((tool) => {
			const handler = Object.hasOwn(handlers, tool.name) ? handlers[tool.name] : undefined;
			return typeof handler === 'function' ? { ...tool, fn: handler } : { ...tool, ...handler };
		}),
	);
}
