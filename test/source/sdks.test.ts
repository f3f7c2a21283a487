import { createHash } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildSdks } from '../../scripts/pack/sdks.ts';
import { root } from '../../scripts/root.ts';

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-sdks-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('an SDK that was built stays as it is until its version or the rules are others', async () => {
	await buildSdks(folder);
	const file = join(folder, 'openai.js');
	const built = await readFile(file, 'utf8');
	const rules = await readFile(join(root, 'scripts/pack/sdks.ts'));
	expect(built).toContain(`rules ${createHash('sha256').update(rules).digest('hex').slice(0, 16)}\n`);
	await appendFile(file, '// stays');
	await buildSdks(folder);
	expect(await readFile(file, 'utf8')).toBe(`${built}// stays`);
	for (const [part, other] of [
		[/ \d+\.\d+\.\d+, /, ' 0.0.1, '],
		[/rules \w+/, 'rules 0'],
	] as const) {
		await writeFile(file, built.replace(part, other));
		await buildSdks(folder);
		expect(await readFile(file, 'utf8')).toBe(built);
	}
});

test.each(['openai', 'anthropic'])('a request of the SDK of %s has no timer and no signal of its own', async (name) => {
	await buildSdks(folder);
	const built = await readFile(join(folder, `${name}.js`), 'utf8');
	expect(built).toContain('fetchWithTimeout(');
	expect(built).not.toMatch(/setTimeout\(|new AbortController/);
});
