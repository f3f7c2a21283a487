import { describe, expect, test } from 'vitest';
import { chat, providers, toolbox, workspace } from '../../../src/core/index.ts';
import { createWeb } from '../toolboxes/web/web.ts';

const pages = {
	'https://a.example/tea': '<title>Tea</title><p>Tea is hot.',
	'https://b.example/': '<title>Milk</title><p>Milk is white.',
};

async function ask(text: string, { isWriting = true } = {}) {
	const { fetch, urls } = createWeb(pages);
	const files = workspace.inMemory();
	const tools = isWriting ? toolbox.withFiles(toolbox.withWeb()) : toolbox.withWeb();
	const answer = await chat.runLoop(
		{ model: 'demo', providers: [providers.demo()], tools, context: { fetch, workspace: files } },
		text,
	);
	const { entries } = await files.list({ recursive: true });
	const file = entries.find(({ type }) => type === 'file');
	return { answer, asked: urls(), report: file === undefined ? undefined : (await files.readLines(file.path)).text };
}

describe('the demo model and the web', () => {
	test('reads each address of a message once', async () => {
		const { answer, asked } = await ask(
			'What do https://a.example/tea and https://b.example/ and https://a.example/tea say?',
		);
		expect(asked).toEqual(['https://a.example/tea', 'https://b.example/']);
		expect(answer).toBe('I have read Tea.\n\nI have read Milk.');
	});

	test('writes a report to the file that the message names', async () => {
		const { answer, report } = await ask(
			'Read https://a.example/tea and https://b.example/. Write notes/report.md about them.',
		);
		expect(report).toBe(
			'# Report\n\n## Tea\n\nhttps://a.example/tea\n\n> Tea is hot.\n\n## Milk\n\nhttps://b.example/\n\n> Milk is white.\n',
		);
		expect(answer).toContain('I have written notes/report.md.');
	});

	test('reports an unreadable page', async () => {
		const { answer, report } = await ask('Read https://a.example/tea and https://gone.example/x.md into report.md.');
		expect(report).toMatch(/## https:\/\/gone\.example\/x\.md\n\nIt could not be read: url: could not be reached/);
		expect(answer).toContain('web_fetch failed: url: could not be reached.');
	});

	test('writes no report without a tool for writing', async () => {
		const { answer, report } = await ask('Read https://a.example/tea into report.md', { isWriting: false });
		expect([answer, report]).toEqual(['I have read Tea.', undefined]);
	});
});
