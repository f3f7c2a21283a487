import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sink } from '../core/toolboxes/web/server/sink.ts';
import { startSite } from '../core/toolboxes/web/server/site.ts';
import { startRunlet } from '../runlet.ts';

let runlet: Awaited<ReturnType<typeof startRunlet>>;
let site: Sink;
beforeAll(async () => {
	[runlet, site] = await Promise.all([startRunlet(), startSite()]);
});
afterAll(() => Promise.all([runlet?.close(), site?.close()]));

interface Answer {
	readonly id: string;
	readonly text: string;
}

async function ask(text: string): Promise<Answer> {
	const response = await fetch(`${runlet.url}/v1/sessions`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ agent: 'researcher', text }),
	});
	return JSON.parse(await response.text());
}

test('under npm start the researcher reads two pages of a local site and writes a report, without a key', async () => {
	const { id, text } = await ask(`Read ${site.url}/tea and ${site.url}/milk, and write notes/report.md about them.`);
	expect(text).toBe('I have read Tea.\n\nI have read Milk.\n\nI have written notes/report.md.');
	expect(site.hits).toEqual(['/tea', '/milk']);
	const report = await (await fetch(`${runlet.url}/v1/sessions/${id}/files/notes/report.md`)).text();
	for (const part of ['# Report\n\n## Tea\n', `${site.url}/tea`, '> | Green | 2 |', '## Milk\n', '> - whole'])
		expect(report).toContain(part);
});

test('the pages of the examples are there, and are read from the Worker itself', async () => {
	const { text } = await ask(`Read ${runlet.url}/docs and ${runlet.url}/healthz.`);
	expect(text).toMatch(/^I have read Runlet: the API\.\n\nI have read http\S+\/healthz\.$/);
});
