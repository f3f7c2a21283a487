/** The answers of every script of package.json to --help and to an unknown option. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import * as v from 'valibot';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const manifest = v.object({ scripts: v.record(v.string(), v.string()) });
const { scripts } = v.parse(manifest, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
/** All scripts except the scripts that npm runs before other scripts. */
const asked = Object.entries(scripts).filter(([name]) => !/^pre(?!pare)/.test(name));
const own = asked.filter(([, command]) => command.startsWith('node '));

async function run(command: string, option: string) {
	const path = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`;
	const child = spawn(`${command} ${option}`, { cwd: root, shell: true, env: { ...process.env, PATH: path } });
	let said = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text: string) => {
			said += text;
		});
	const [code] = await once(child, 'close');
	return { code, said };
}

test.each(asked)('npm run %s -- --help shows the help, and does nothing', async (name, command) => {
	const { code, said } = await run(command, '--help');
	expect([code, said]).toEqual([0, expect.stringMatching(/usage|npm (run )?\w+/i)]);
	if (command.startsWith('node ')) expect(said).toContain(name === 'start' ? 'npm start' : `npm run ${name}`);
});

test.each(own)('npm run %s refuses an unknown option', async (_, command) => {
	const { code, said } = await run(command, '--hlep');
	expect(code).toBeGreaterThan(0);
	expect(said).toMatch(/^(\w+: )?--hlep: there is no such option\./m);
	expect(said).not.toMatch(/^\s+at .*:\d+:\d+/m);
});

test('every npm script is a single program, which gets all arguments', () => {
	expect(asked.filter(([, command]) => /&&|;|\|/.test(command))).toEqual([]);
});
