/** The type checks of files that are saved while `npm start` serves them. */
import { spawnSync } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { copyProject, startRunletIn } from '../runlet.ts';

/** The compiler runs at low priority, and is slow on a busy machine. */
vi.setConfig({ testTimeout: 300_000 });

let project: string;
let runlet: Awaited<ReturnType<typeof startRunletIn>>;
beforeAll(async () => {
	project = await copyProject();
	runlet = await startRunletIn(project, '--type-check');
});
afterAll(async () => {
	await runlet?.close();
	await rm(project, { recursive: true, force: true });
});

/** How many compilers run in the server's process group. */
function countCompilers(): number {
	const { stdout } = spawnSync('ps', ['-o', 'args=', '-g', String(runlet.group)], { encoding: 'utf8' });
	return stdout.split('\n').filter((line) => line.split(' ')[0]?.endsWith('tsc')).length;
}

test('reports a type error with its line, and later reports its fix, while the Worker runs the saved code', async () => {
	const path = join(project, 'src/agents/assistant.ts');
	const good = await readFile(path, 'utf8');
	runlet.forget();
	await writeFile(path, `${good}\nexport const wrong: number = 'text';\n`);
	const line = good.split('\n').length + 1;
	await runlet.says(
		new RegExp(`src/agents/assistant\\.ts:${line}:14 Type 'string' is not assignable to type 'number'`),
	);
	expect(runlet.printed(/(A type error)/)).toBeDefined();
	expect((await fetch(`${runlet.url}/v1/agents`)).status).toBe(200);
	await writeFile(path, good);
	// The test saves the file again during this check.
	await expect.poll(countCompilers, { timeout: 60_000, interval: 20 }).toBeGreaterThan(0);
	await writeFile(path, `${good}\n`);
	await runlet.says(/The types are right again\./);
});
