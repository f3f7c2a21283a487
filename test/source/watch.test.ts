import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchFolder } from '../../src/command/dev/watch.ts';

/** Writes a file in a watched folder. `expectRead` waits until this text of the file was read after a save. */
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

test('the watcher reports each save of a file that is replaced twice and then written in place', async () => {
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

test('the watcher reports saves of a file whose folder was deleted and created again', async () => {
	const { path, expectRead } = await createWatched('tone/SKILL.md');
	await rename(dirname(path), `${dirname(path)}.old`);
	await mkdir(dirname(path));
	await writeFile(path, 'one\n');
	await expectRead('one\n');
	await appendFile(path, 'two\n');
	await expectRead('one\ntwo\n');
});
