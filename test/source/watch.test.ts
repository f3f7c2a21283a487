import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchFolder } from '../../src/command/dev/watch.ts';

/** Watches a folder in which a file is written, and waits until the text of the file was read after a save. */
async function createWatched(name: string) {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-watch-'));
	onTestFinished(() => rm(folder, { recursive: true }));
	const path = join(folder, name);
	await mkdir(dirname(path));
	await writeFile(path, 'before\n');
	let read = '';
	watchFolder(folder, () => {
		read = existsSync(path) ? readFileSync(path, 'utf8') : '';
	});
	return { path, expectRead: (text: string) => expect.poll(() => read, { interval: 20, timeout: 10_000 }).toBe(text) };
}

/** Replaces a file as `sed -i` and vim do. */
async function replace(path: string, text: string): Promise<void> {
	await writeFile(`${path}.new`, text);
	await rename(`${path}.new`, path);
}

test('each save is reported of a file that was replaced twice and then written in place', async () => {
	const { path, expectRead } = await createWatched('tone/SKILL.md');
	for (const text of ['one\n', 'two\n']) {
		await replace(path, text);
		await expectRead(text);
	}
	await appendFile(path, 'three\n');
	await expectRead('two\nthree\n');
	await appendFile(path, 'four\n');
	await expectRead('two\nthree\nfour\n');
});

test('saves are reported of a file whose folder was made anew', async () => {
	const { path, expectRead } = await createWatched('tone/SKILL.md');
	await rename(dirname(path), `${dirname(path)}.old`);
	await mkdir(dirname(path));
	await writeFile(path, 'one\n');
	await expectRead('one\n');
	await appendFile(path, 'two\n');
	await expectRead('one\ntwo\n');
});
