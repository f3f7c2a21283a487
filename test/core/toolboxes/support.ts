import { type Toolbox, toolbox, type Workspace, workspace } from '../../../src/core/index.ts';
import { calling, finish, results } from '../chat/support.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

/** Returns functions that call tools of a box on these files. */
export function callOn(box: Toolbox, files: Files | Workspace = {}) {
	const isWorkspace = typeof files.list === 'function';
	// SAFETY: only a workspace has a function `list`.
	const own = isWorkspace ? (files as unknown as Workspace) : workspace.inMemory(files as Files);
	const perform = (name: string, args: Readonly<Record<string, unknown>>) =>
		toolbox.perform(name, args, box, { workspace: own });
	return {
		files: own,
		/** Returns the result of a tool. Throws an error with the message of the tool if the tool fails. */
		call: async (name: string, args: Readonly<Record<string, unknown>>): Promise<unknown> => {
			const outcome = await perform(name, args);
			if (outcome.ok) return outcome.value;
			throw new Error(`${outcome.error.kind}: ${outcome.error.message}`);
		},
		/** Returns the message of a tool that fails. */
		fail: async (name: string, args: Readonly<Record<string, unknown>>): Promise<string> => {
			const outcome = await perform(name, args);
			if (outcome.ok) throw new Error(`${name} did not fail: ${JSON.stringify(outcome.value)}`);
			return outcome.error.message;
		},
	};
}

/** Plays a model that calls a tool, gets an error, and calls the tool again. Returns both results. */
export async function correct(
	box: Toolbox,
	files: Workspace,
	name: string,
	...inputs: readonly Readonly<Record<string, unknown>>[]
): Promise<readonly { readonly output: unknown; readonly isError: boolean }[]> {
	const turns = inputs.map((input, at) => calling({ id: `c${at}`, name, input }));
	const { result } = await finish([...turns, 'done'], { tools: box, context: { workspace: files } });
	const failed = new Set(
		result.messages.flatMap((message) => (message.role === 'tool' && message.isError ? [message.toolCallId] : [])),
	);
	return results(result.messages).map(([id, output]) => ({ output, isError: failed.has(id) }));
}
