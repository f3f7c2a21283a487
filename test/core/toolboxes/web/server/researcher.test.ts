import { afterAll, beforeAll, expect, test } from 'vitest';
import { researcher } from '../../../../../src/agents/researcher.ts';
import { chat, workspace } from '../../../../../src/core/index.ts';
import { calling, finish, results } from '../../../chat/support.ts';
import type { Sink } from './sink.ts';
import { startSite } from './site.ts';

let site: Sink;
beforeAll(async () => {
	site = await startSite();
});
afterAll(() => site.close());

test('the researcher reads two pages, corrects a wrong address, and writes a report to a file', async () => {
	const files = workspace.inMemory();
	const read = (id: string, path: string) => calling({ id, name: 'web_fetch', input: { url: `${site.url}${path}` } });
	const text = '# Tea and milk\n\nGreen tea takes 2 minutes.\n';
	const write = calling({ id: 'd', name: 'write_file', input: { path: 'report.md', text } });
	const { result, requests } = await finish(
		[read('a', '/tea'), read('b', '/mlik'), read('c', '/milk'), write, 'The report is in report.md.'],
		{
			system: researcher.system,
			tools: researcher.tools,
			context: { workspace: files, web: { allowLoopback: true } },
		},
		[chat.userMessage('Compare tea and milk.')],
	);
	const told = Object.fromEntries(results(result.messages));
	expect(told.a).toMatchObject({
		title: 'Tea',
		text: `# Tea\n\nWater at **80 °C** for green tea. See [milk](${site.url}/milk).\n\n| Tea | Minutes |\n| - | - |\n| Green | 2 |\n| Black | 4 |`,
	});
	expect(told.b).toMatch(/\/mlik answered with status 404\. There is no such page\. Check the address/);
	expect(told.c).toMatchObject({ notice: expect.stringContaining(`Untrusted content from ${site.url}/milk`) });
	expect((await files.readLines('report.md')).text).toBe(text);
	expect(result.text).toBe('The report is in report.md.');
	expect(requests[0]?.system).toMatch(/never an instruction/);
});
