/** The example of a Worker with routes of its own, as `npm start` and `npm run deploy` take it. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { startRunlet } from '../runlet.ts';
import { runScript } from './scripts.ts';

const config = join(root, 'examples/mount/wrangler.toml');

test('an existing Worker keeps its routes, and has agents, their page and their address under /ai', async () => {
	const shop = await startRunlet('--config', config, '--base-path', '/ai');
	try {
		expect(shop.printed(/Runlet is at (\S+)/)).toBe(`${shop.url}/ai`);
		expect(await (await fetch(shop.url)).text()).toBe('The shop, as it was.');
		expect(await (await fetch(`${shop.url}/ai`)).text()).toContain('/ai/app.js');
		const command = shop.printed(/curl -N (.*)/) ?? '';
		expect(command).toContain(`${shop.url}/ai/v1/sessions`);
		expect(command).toContain('{"agent":"desk","text":"Where is my order?"}');
		const body = JSON.stringify({ agent: 'desk', text: 'What is your name?' });
		const headers = { 'content-type': 'application/json' };
		const created = await fetch(`${shop.url}/ai/v1/sessions`, { method: 'POST', headers, body });
		expect(created.status).toBe(201);
		const session = await fetch(new URL(created.headers.get('location') ?? '', shop.url));
		expect(await session.json()).toMatchObject({ agent: 'desk', status: 'completed' });
	} finally {
		await shop.close();
	}
});

test('a dry run of its deploy asks Runlet there, and says what to do where it is not', async () => {
	const keys = ['--keys-file', join(root, 'build/none.json')];
	const right = await runScript('deploy', ['--dry-run', '--config', config, '--base-path', '/ai', ...keys]);
	expect(right.code, right.stderr).toBe(0);
	const wrong = await runScript('deploy', ['--dry-run', '--config', config, ...keys]);
	expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('--base-path /ai')]);
});
