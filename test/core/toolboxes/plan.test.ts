import { describe, expect, test } from 'vitest';
import { toolbox, type Workspace, workspace } from '../../../src/core/index.ts';
import { calling, finish, results } from '../chat/support.ts';
import { snapshot } from '../workspace/contract.ts';
import { callOn, correct } from './support.ts';

const box = toolbox.withCoding(toolbox.withFiles());
const files = { 'a.ts': 'const one = 1;\n', 'b.ts': 'two\n', 'c.ts': 'three\n' };
const edits = [
	{ path: 'a.ts', oldText: 'one = 1', newText: 'one = 2' },
	{ path: 'b.ts', moveTo: 'lib/b.ts', oldText: 'two', newText: 'TWO' },
	{ path: 'c.ts', delete: true },
	{ path: 'd.ts', newText: 'new\n' },
];
const after = { 'a.ts': 'const one = 2;\n', 'lib/b.ts': 'TWO\n', 'd.ts': 'new\n' };
const changed = [
	{ path: 'a.ts', kind: 'changed' },
	{ path: 'lib/b.ts', kind: 'moved' },
	{ path: 'c.ts', kind: 'deleted' },
	{ path: 'd.ts', kind: 'created' },
];

describe('a plan', () => {
	test('changes nothing until it is applied, and then changes everything in one step', async () => {
		const { call, files: own } = callOn(box, files);
		const { planId } = Object(await call('plan_changes', { summary: 'Renames.', edits }));
		expect(await snapshot(own)).toEqual(files);
		expect(await call('apply_plan', { planId })).toEqual({ changed });
		expect(await snapshot(own)).toEqual(after);
		await call('undo_changes', {});
		expect(await snapshot(own)).toEqual(files);
	});

	test('has one diff, which apply_patch accepts', async () => {
		const planned = callOn(box, files);
		const { diff } = Object(await planned.call('plan_changes', { summary: 's', edits }));
		expect(diff).toContain('rename to lib/b.ts');
		const { call, files: own } = callOn(box, files);
		expect(await call('apply_patch', { patch: diff })).toEqual({ changed });
		expect(await snapshot(own)).toEqual(after);
	});

	test('names the files without a diff', async () => {
		const { call } = callOn(box, {
			'a.ts': 'one\n',
			'photo.png': new Uint8Array([0, 255]),
			'big.txt': 'x\n'.repeat(150_000),
		});
		const planned = await call('plan_changes', {
			summary: 's',
			edits: [
				{ path: 'a.ts', newText: 'two\n' },
				{ path: 'photo.png', delete: true },
				{ path: 'big.txt', newText: 'y\n'.repeat(100_000) },
			],
		});
		expect(Object(planned).diff.split('\n').slice(0, 3)).toEqual([
			'No diff, because it is no text or too long: photo.png is deleted.',
			'No diff, because it is no text or too long: big.txt is changed.',
			'diff --git a/a.ts b/a.ts',
		]);
	});

	test('makes several edits of one file in the given order', async () => {
		const { call, files: own } = callOn(box, { a: '1 2\n' });
		const { planId } = Object(
			await call('plan_changes', {
				summary: 's',
				edits: [
					{ path: 'a', oldText: '1', newText: 'x' },
					{ path: 'a', oldText: 'x 2', newText: 'y' },
					{ path: 'n', newText: '' },
					{ path: 'n', newText: 'text' },
				],
			}),
		);
		expect(await call('apply_plan', { planId })).toEqual({
			changed: [
				{ path: 'a', kind: 'changed' },
				{ path: 'n', kind: 'created' },
			],
		});
		expect(await snapshot(own)).toEqual({ a: 'y\n', n: 'text' });
	});

	test('reports all mistakes at once', async () => {
		const { fail } = callOn(box, files);
		const message = await fail('plan_changes', {
			summary: 's',
			edits: [
				{ path: 'x.ts', oldText: 'a', newText: 'b' },
				{ path: 'a.ts', oldText: 'const two = 1;', newText: '' },
				{ path: 'a.ts', oldText: 'one' },
				{ path: 'b.ts' },
				{ path: 'b.ts', delete: true, newText: '' },
				{ path: 'b.ts', moveTo: 'c.ts' },
				{ path: '../b', newText: '' },
				{ path: 'c.ts', oldText: 'three', newText: '3' },
			],
		});
		for (const [at, what] of [
			'there is no file x.ts',
			'1: const one = 1;',
			'newText: missing',
			'changes nothing',
			'not changed or moved',
			'c.ts exists already',
			'leaves the workspace',
		].entries())
			expect(message).toMatch(new RegExp(`edits\\.${at} \\([^)]*\\): [\\s\\S]*${what.replace('.', '\\.')}`));
		expect(message).not.toContain('edits.7');
	});

	test('is refused with a list of the edits that would put a file inside a file or in place of a folder', async () => {
		const { fail, call } = callOn(box, { 'src/a.ts': 'a\n', 'b.ts': 'b\n', 'lib/deep/c.ts': 'c\n' });
		const message = await fail('plan_changes', {
			summary: 's',
			edits: [
				{ path: 'src/a.ts/x', newText: '' },
				{ path: 'src/a.ts', oldText: 'z', newText: '' },
				{ path: 'b.ts', moveTo: 'src/a.ts/deep/y' },
				{ path: 'lib', newText: '' },
				{ path: 'n', newText: '' },
				{ path: 'n/m', newText: '' },
			],
		});
		expect(
			message
				.split('\n')
				.map((line) => /^edits\.(\d)/.exec(line)?.[1])
				.filter(Boolean),
		).toEqual([...'012345'].filter((at) => at !== ''));
		expect(message).toContain('edits.0 (src/a.ts/x): path: src/a.ts/x would be below src/a.ts, which is a file.');
		expect(message).toContain('edits.3 (lib): path: lib is a folder.');
		const { planId } = Object(
			await call('plan_changes', {
				summary: 's',
				edits: [
					{ path: 'src/a.ts/x', newText: '' },
					{ path: 'src/a.ts', delete: true },
					{ path: 'lib', newText: '' },
					{ path: 'lib/deep/c.ts', moveTo: 'c.ts' },
				],
			}),
		);
		expect(Object(await call('apply_plan', { planId })).changed).toHaveLength(4);
	});

	test('is applied at most once', async () => {
		const { call, fail } = callOn(box, files);
		const { planId } = Object(await call('plan_changes', { summary: 's', edits }));
		await call('apply_plan', { planId });
		expect(await fail('apply_plan', { planId })).toMatch(/applied already/);
	});

	test.each([
		['a change of a file', async (own: Workspace) => own.write('a.ts', files['a.ts'])],
		['the deletion of a file', async (own: Workspace) => own.delete('b.ts')],
		['the creation of a file that the plan creates', async (own: Workspace) => own.write('d.ts', '')],
		['the creation of a file at the target of a move', async (own: Workspace) => own.write('lib/b.ts', '')],
	])('is outdated after %s, and then changes nothing', async (_, change) => {
		const { call, fail, files: own } = callOn(box, files);
		const { planId } = Object(await call('plan_changes', { summary: 's', edits }));
		await change(own);
		const before = await snapshot(own);
		expect(await fail('apply_plan', { planId })).toMatch(/out of date.*(?:a|b|d)\.ts/);
		expect(await snapshot(own)).toEqual(before);
	});

	test('stays valid when other files change', async () => {
		const { call, files: own } = callOn(box, files);
		const { planId } = Object(await call('plan_changes', { summary: 's', edits }));
		await own.write('other', '');
		expect(await call('apply_plan', { planId })).toEqual({ changed });
	});

	test('with an unknown id gives an error that names the 20 newest plans', async () => {
		const { call, fail } = callOn(box, files);
		expect(await fail('apply_plan', { planId: 'x' })).toContain('call plan_changes first');
		const ids: string[] = [];
		for (let n = 0; n < 21; n++)
			ids.push(Object(await call('plan_changes', { summary: 's', edits: [{ path: 'n', newText: `${n}` }] })).planId);
		expect(await fail('apply_plan', { planId: ids[0] })).toContain(`Known: ${ids.slice(1).join(', ')}.`);
		expect(await call('apply_plan', { planId: ids[1] })).toMatchObject({ changed: [{ kind: 'created' }] });
	});

	test('with a mistake is refused with an explanation, and the corrected plan is applied', async () => {
		const own = workspace.inMemory(files);
		const [wrong, right] = await correct(
			box,
			own,
			'plan_changes',
			{ summary: 's', edits: [{ path: 'a.ts', oldText: 'const two = 1;', newText: 'x' }] },
			{ summary: 's', edits: [{ path: 'a.ts', oldText: 'const one = 1;', newText: 'x' }] },
		);
		expect(wrong).toMatchObject({ isError: true, output: expect.stringContaining('const one = 1;') });
		const { planId } = Object(right?.output);
		await correct(box, own, 'apply_plan', { planId });
		expect(await snapshot(own)).toMatchObject({ 'a.ts': 'x\n' });
	});

	test('waits for a person if apply_plan needs approval', async () => {
		const own = workspace.inMemory(files);
		const { planId } = Object(await callOn(box, own).call('plan_changes', { summary: 's', edits }));
		const tools = Object.values(box).map((tool) =>
			tool.name === 'apply_plan' ? { ...tool, needsApproval: true } : tool,
		);
		const options = { tools, context: { workspace: own } };
		const { result } = await finish([calling({ id: 'c', name: 'apply_plan', input: { planId } })], options);
		expect(result.status).toBe('awaiting_tools');
		expect(await snapshot(own)).toEqual(files);
		const openCalls = new Map([['c', { isApproved: true }]]);
		const allowed = await finish(['done'], { ...options, openCalls }, result.messages);
		expect(results(allowed.result.messages)).toEqual([['c', { changed }]]);
		expect(await snapshot(own)).toEqual(after);
	});

	test('has tools that run alone, and are offered only with a workspace', () => {
		for (const name of ['plan_changes', 'apply_plan'])
			expect(box[name]).toMatchObject({ sequential: true, retry: 'safe' });
		expect(toolbox.withCoding({}, {})).toEqual({});
	});
});
