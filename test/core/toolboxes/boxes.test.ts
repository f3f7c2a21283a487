import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toolbox, workspace } from '../../../src/core/index.ts';

const own = { name: 'own', inputSchema: { type: 'object' }, passInput: true, fn: () => 'ran' };

describe('the boxes', () => {
	test('basic has get_time and calculate', async () => {
		const box = toolbox.basic();
		expect(Object.keys(box)).toEqual(expect.arrayContaining(['get_time', 'calculate']));
		expect(await toolbox.perform('calculate', { expression: '(17 + 25) * 2' }, box)).toEqual({ ok: true, value: 84 });
		expect(await toolbox.perform('get_time', {}, box)).toMatchObject({
			ok: true,
			value: expect.stringMatching(/\d{4}/),
		});
	});

	test('basic has only tools that change nothing', () => {
		for (const tool of Object.values(toolbox.basic())) {
			expect(tool).toMatchObject({ retry: 'safe' });
			expect(tool.needsApproval ?? false).toBe(false);
		}
	});

	test('basic has the same tools with and without a workspace', () => {
		const context = { workspace: workspace.inMemory() };
		expect(Object.keys(toolbox.basic(context))).toEqual(Object.keys(toolbox.basic()));
	});

	test('every argument of every tool of all boxes has a description', () => {
		const missing = Object.values(toolbox.all()).flatMap(({ name, inputSchema }) =>
			Object.entries(Object(inputSchema.properties)).flatMap(([argument, schema]) =>
				Object(schema).description === undefined ? [`${name}.${argument}`] : [],
			),
		);
		expect(missing).toEqual([]);
	});

	test('are created synchronously and without a context', () => {
		for (const box of [toolbox.basic(), toolbox.all()]) expect(Object.keys(box)).toContain('calculate');
	});

	test('all has all tools of basic', () => {
		expect(Object.keys(toolbox.all())).toEqual(expect.arrayContaining(Object.keys(toolbox.basic())));
	});

	test.each(['withTask', 'withWeb', 'withFiles', 'withCoding'] as const)(
		'%s keeps the tools of the given box, and does not change that box',
		(name) => {
			const box = toolbox.build([own]);
			expect(toolbox[name](box)).toMatchObject({ own: { name: 'own' } });
			expect(Object.keys(box)).toEqual(['own']);
			expect(toolbox[name]()).toEqual(expect.any(Object));
		},
	);

	test('providers accept the name of every tool', () => {
		for (const [name, tool] of Object.entries(toolbox.all())) {
			expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
			expect(tool).toMatchObject({ name, description: expect.stringMatching(/\S/) });
		}
	});

	const read = (path: string) => readFileSync(join(import.meta.dirname, '../../..', path), 'utf8');
	const boxes = [
		['Look', toolbox.basic()],
		['Lists of tasks', toolbox.withTask()],
		['Read the web', toolbox.withWeb()],
		['Change files', toolbox.withFiles()],
		['Plan changes', toolbox.withCoding()],
	] as const;

	test('docs/tools.md lists every tool of all boxes, with its description', () => {
		expect(boxes.flatMap(([, box]) => Object.keys(box)).sort()).toEqual(Object.keys(toolbox.all()).sort());
		const page = read('docs/tools.md');
		for (const [title, box] of boxes) {
			const rows = Object.values(box).map(({ name, description }) => `| \`${name}\` | ${description} |`);
			expect(page.split(`### ${title}\n`)[1]?.split('\n### ')[0]).toContain(rows.join('\n'));
		}
	});

	test('README names every tool of all boxes, with a link to its description', () => {
		const lines = read('README.md').split('\n');
		for (const [title, box] of boxes) {
			const anchor = title.toLowerCase().replaceAll(' ', '-');
			const line = lines.find((one) => one.includes(`(docs/tools.md#${anchor})`));
			for (const name of Object.keys(box)) expect(line).toContain(`\`${name}\``);
		}
	});

	test('every tool of all boxes has a strict, closed specification', () => {
		for (const { function: spec } of toolbox.specs(toolbox.all()))
			expect(spec).toMatchObject({ strict: true, parameters: { type: 'object', additionalProperties: false } });
	});

	test('every tool that changes files or tasks is sequential', () => {
		const harmless = [...Object.keys(toolbox.basic()), ...Object.keys(toolbox.withWeb()), 'show_tasks'];
		for (const [name, tool] of Object.entries(toolbox.all()))
			expect([name, tool.sequential ?? false]).toEqual([name, !harmless.includes(name)]);
	});
});
