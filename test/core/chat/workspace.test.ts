import { expect, test } from 'vitest';
import { type ToolContext, workspace } from '../../../src/core/index.ts';
import { snapshot } from '../workspace/contract.ts';
import { calling, finish, readTool, results } from './support.ts';

const call = (id: string, name: string) => ({ id, name, input: {} });

/** Creates a tool that uses the context of its call. */
const withContext = (name: string, work: (context: ToolContext) => unknown) =>
	// SAFETY: the loop passes a context to each tool with `passInput`.
	readTool(name, (_, context) => work(context as ToolContext), { sequential: true });

test("a tool reads and changes the run's workspace, and each call is one step that can be undone", async () => {
	const files = workspace.inMemory({ 'a.txt': 'a' });
	const change = withContext('change', async ({ workspace: own }) => {
		await own?.write('a.txt', 'A');
		await own?.write('b.txt', 'B');
		return 'changed';
	});
	const { result } = await finish([calling(call('c1', 'change')), calling(call('c1', 'change')), 'done'], {
		tools: [change],
		context: { workspace: files },
	});
	expect(results(result.messages).map(([, content]) => content)).toEqual(['changed', 'changed']);
	expect(await snapshot(files)).toEqual({ 'a.txt': 'A', 'b.txt': 'B' });
	await files.undo(2);
	expect(await snapshot(files)).toEqual({ 'a.txt': 'a' });
});

test('the tools of a run without a workspace get no workspace', async () => {
	const look = withContext('look', ({ workspace: own }) => own === undefined);
	const { result } = await finish([calling(call('c1', 'look')), 'done'], { tools: [look] });
	expect(results(result.messages)).toEqual([['c1', true]]);
});

test('a refusal by the workspace is an error for the model, and is not reported as a fault of the tool', async () => {
	const thrown: unknown[] = [];
	const read = withContext('read', ({ workspace: own }) => own?.read('b.txt'));
	const { result } = await finish([calling(call('c1', 'read')), 'done'], {
		tools: [read],
		context: { workspace: workspace.inMemory({ 'a.txt': '' }) },
		onToolThrow: (_, error) => thrown.push(error),
	});
	expect(results(result.messages)).toEqual([['c1', 'path: there is no file b.txt. Did you mean a.txt?']]);
	expect(thrown).toEqual([]);
});

test('a tool reads the conversation with the newest message first', async () => {
	const look = withContext('look', ({ readConversation }) => [...(readConversation?.() ?? [])]);
	const { result } = await finish([{ ...calling(call('c1', 'look')), text: 'Wait.' }, 'done'], { tools: [look] });
	expect(results(result.messages)).toEqual([
		[
			'c1',
			[
				{ role: 'assistant', text: 'Wait.' },
				{ role: 'user', text: 'Hello' },
			],
		],
	]);
});
