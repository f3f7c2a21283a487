/** The tool `memory` with the commands of Anthropic’s memory tool (docs/memory.md). */
import { beforeEach, expect, test } from 'vitest';
import type { ScriptedFn } from '../../../src/core/providers/scripted.ts';
import { readHistory } from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { createSessionFor, createUser, listMemories, putMemory, readTexts, say } from './people.ts';

beforeEach(() => atCrashPoint());

const toCalls = (...inputs: readonly object[]) => ({
	toolCalls: inputs.map((input, index) => ({ id: `m${index}`, name: 'memory', input: { ...input } })),
});

/** Runs commands in sequence, and returns their results. */
async function command(user: string, ...inputs: readonly object[]): Promise<unknown[]> {
	play(toCalls(...inputs), 'Done.');
	const id = await createSessionFor(user);
	expect(await say(id)).toMatchObject({ status: 'completed' });
	return (await readHistory(id)).filter(({ role }) => role === 'tool').map(({ content }) => content);
}

test('the tool `memory` creates, shows, changes, moves and deletes a text, and reports each step', async () => {
	const user = createUser();
	const path = '/memories/projects/site.md';
	expect(
		await command(
			user,
			{ command: 'view', path: '/memories' },
			{ command: 'create', path, file_text: 'The site\nis in Hono.\n' },
			{ command: 'view', path },
			{ command: 'str_replace', path, old_str: 'Hono', new_str: 'h3' },
			{ command: 'insert', path, insert_line: 0, insert_text: 'About:\n' },
			{ command: 'view', path, view_range: [1, 2] },
			{ command: 'view', path: '/memories/' },
			{ command: 'rename', old_path: '/memories/projects', new_path: '/memories/old/work' },
			{ command: 'view', path: '/memories/old/work/site.md', view_range: [3, -1] },
		),
	).toEqual([
		"Here're the files and directories up to 2 levels deep in /memories:\n0\t/memories",
		`File created successfully at: ${path}`,
		`Here's the content of ${path} with line numbers:\n     1\tThe site\n     2\tis in Hono.\n     3\t`,
		'The memory file has been edited.',
		`The file ${path} has been edited.`,
		`Here's the content of ${path} with line numbers:\n     1\tAbout:\n     2\tThe site`,
		"Here're the files and directories up to 2 levels deep in /memories:\n26\t/memories\n26\t/memories/projects\n26\t/memories/projects/site.md",
		'Successfully renamed /memories/projects to /memories/old/work',
		"Here's the content of /memories/old/work/site.md with line numbers:\n     3\tis in h3.\n     4\t",
	]);
	const [memory] = await listMemories(user);
	expect(memory).toMatchObject({
		path: 'old/work/site.md',
		text: 'About:\nThe site\nis in h3.\n',
		source: { via: 'call', agent: 'keeper', callId: 'm7' },
	});
	expect(await listMemories(user, { query: 'h3' })).toEqual([memory]);
	expect(await command(user, { command: 'delete', path: '/memories/old' })).toEqual([
		'Successfully deleted /memories/old',
	]);
	expect(await listMemories(user)).toEqual([]);
});

test.each<[what: string, input: object, said: RegExp]>([
	[
		'the view of an unknown path',
		{ command: 'view', path: '/memories/b.md' },
		/^The path \/memories\/b\.md does not exist/,
	],
	['a foreign path', { command: 'view', path: '/etc/passwd' }, /^Error: Path \/etc\/passwd is outside of \/memories/],
	['a path with ..', { command: 'view', path: '/memories/../etc' }, /"\.\."/],
	['a path that only begins like /memories', { command: 'view', path: '/memoriesx' }, /is outside of \/memories/],
	[
		'a creation at an existing path',
		{ command: 'create', path: '/memories/a.md', file_text: 'x' },
		/^Error: File \/memories\/a\.md already/,
	],
	['a creation without a text', { command: 'create', path: '/memories/b.md' }, /^file_text: missing/],
	['a path below a memory', { command: 'create', path: '/memories/a.md/b.md', file_text: 'x' }, /a\.md is a memory/],
	['a text that is too long', { command: 'create', path: '/memories/b.md', file_text: 'x'.repeat(8_001) }, /8000/],
	['a missing old_str', { command: 'str_replace', path: '/memories/a.md', old_str: 'z' }, /did not appear verbatim/],
	[
		'an old_str that occurs twice',
		{ command: 'str_replace', path: '/memories/a.md', old_str: 'One' },
		/in lines: 1, 3\. Please/,
	],
	['an empty old_str', { command: 'str_replace', path: '/memories/a.md', old_str: '' }, /did not appear verbatim/],
	[
		'an insertion after the last line',
		{ command: 'insert', path: '/memories/a.md', insert_line: 4, insert_text: 'x' },
		/lines of the file: \[0, 3\]/,
	],
	['a range too far', { command: 'view', path: '/memories/a.md', view_range: [2, 9] }, /lines of the file: \[1, 4\]/],
	['a gone path', { command: 'delete', path: '/memories/b.md' }, /^Error: The path \/memories\/b\.md does not exist/],
	['the deletion of /memories', { command: 'delete', path: '/memories' }, /^Error: \/memories itself stays/],
	[
		'a rename to an existing path',
		{ command: 'rename', old_path: '/memories/a.md', new_path: '/memories/c.md' },
		/c\.md already exists/,
	],
	['a nested rename', { command: 'rename', old_path: '/memories/a.md', new_path: '/memories/a.md/b' }, /is in a\.md/],
	[
		'a rename of an unknown path',
		{ command: 'rename', old_path: '/memories/b.md', new_path: '/memories/d.md' },
		/b\.md: there is no such/,
	],
])('the tool `memory` refuses %s, and says why', async (_, input, said) => {
	const user = createUser();
	await putMemory(user, 'a.md', 'One.\nTwo.\nOne.\n');
	await putMemory(user, 'c.md', 'Three.');
	const [answer] = await command(user, input);
	expect(String(answer)).toMatch(said);
	expect(await readTexts(user)).toEqual({ 'a.md': 'One.\nTwo.\nOne.\n', 'c.md': 'Three.' });
});

test.each<[what: string, input: object, said: string, after: Record<string, string>]>([
	[
		'a creation',
		{ command: 'create', path: '/memories/b.md', file_text: 'New.' },
		'File created successfully at: /memories/b.md',
		{ 'a.md': 'One.', 'b.md': 'New.' },
	],
	[
		'a replacement',
		{ command: 'str_replace', path: '/memories/a.md', old_str: 'One', new_str: 'One by One' },
		'The memory file has been edited.',
		{ 'a.md': 'One by One.' },
	],
	[
		'an insertion',
		{ command: 'insert', path: '/memories/a.md', insert_line: 1, insert_text: 'Two.' },
		'The file /memories/a.md has been edited.',
		{ 'a.md': 'One.\nTwo.' },
	],
	[
		'a move',
		{ command: 'rename', old_path: '/memories/a.md', new_path: '/memories/c/d.md' },
		'Successfully renamed /memories/a.md to /memories/c/d.md',
		{ 'c/d.md': 'One.' },
	],
])('%s that runs again after a restart takes effect once', async (_, input, said, after) => {
	const user = createUser();
	await putMemory(user, 'a.md', 'One.');
	const id = await createSessionFor(user);
	let times = 0;
	atCrashPoint((point, { session }) =>
		session === id && point === 'tool-end' && ++times === 1 ? die(id, { isDurable: false }) : undefined,
	);
	// The turn may be lost together with the result of its call.
	const turn: ScriptedFn = ({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'Done.' : toCalls(input));
	play(turn, turn, turn);
	await say(id).catch(() => {});
	await expect.poll(() => readHistory(id).catch(() => []), { timeout: 30_000 }).toHaveLength(4);
	expect(times).toBeGreaterThan(1);
	expect((await readHistory(id))[2]).toMatchObject({ role: 'tool', content: said });
	expect(await readTexts(user)).toEqual(after);
});
